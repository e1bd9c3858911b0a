//go:build unix

package postgres_test

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

// TestMain lets the test binary run as a guard process, which cleans up after the tests.
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
	if err := endGuard(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// guard removes folders and stops servers, even if the tests are killed or time out, when nothing else does.
var (
	theGuard   *harm.Guard
	startGuard = sync.OnceValue(func() (err error) {
		theGuard, err = harm.StartGuard()
		return err
	})
)

func endGuard() error {
	if theGuard == nil {
		return nil
	}
	return theGuard.End()
}

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
func guardServer(t testing.TB, data string) { t.Helper(); tellGuard(t, harm.HasServer, data) }
func guardProcess(t testing.TB, p *os.Process) {
	t.Helper()
	tellGuard(t, harm.HasProcess, strconv.Itoa(p.Pid))
}

func unguardProcess(t testing.TB, p *os.Process) {
	t.Helper()
	tellGuard(t, harm.HasEnded, strconv.Itoa(p.Pid))
}
