//go:build unix

package redis_test

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestMain lets the test binary run as a guard process, which removes folders and stops servers when the tests end, even if they
// are killed.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"-role", "guard"}) {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are for the tests; the guard waits until these end
		if err := harm.GuardUntil(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testenv.Parallel(8)
	code := m.Run()
	if theGuard != nil {
		if err := theGuard.End(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var (
	theGuard   *harm.Guard
	startGuard = sync.OnceValue(func() (err error) {
		theGuard, err = harm.StartGuard()
		return err
	})
)

func tellGuard(t testing.TB, word, what string) {
	t.Helper()
	err := startGuard()
	if err == nil {
		err = theGuard.Report(word, what)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func guardFolder(t testing.TB, path string) { t.Helper(); tellGuard(t, harm.HasFolder, path) }

func guardProcess(t testing.TB, p *os.Process) {
	t.Helper()
	tellGuard(t, harm.HasProcess, strconv.Itoa(p.Pid))
}

func unguardProcess(t testing.TB, p *os.Process) {
	t.Helper()
	tellGuard(t, harm.HasEnded, strconv.Itoa(p.Pid))
}
