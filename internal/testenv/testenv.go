// Package testenv is for tests that need something which not every machine has: a server, a program, a file, time.
//
// Without it such a test skips, and go test says so with -v or -json alone. With MEANWHILE_CI=1 in the environment it fails, so that
// CI shows all of them to pass.
package testenv

import (
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
)

// Long reports whether the tests that take long are wanted, with MEANWHILE_LONG=1 in the environment, as in CI.
func Long() bool { return os.Getenv("MEANWHILE_LONG") == "1" }

// Rounds returns how often a test repeats what it does: a few times, or many when the tests that take long are wanted.
func Rounds(few, many int) int {
	if Long() {
		return many
	}
	return few
}

// LongTest skips the rest of a test that takes long, unless those are wanted.
func LongTest(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("it takes long: set MEANWHILE_LONG=1 to run it")
	}
}

// Missing skips the rest of a test and says what it needs, or fails it in CI.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("MEANWHILE_CI") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Program returns the path of a program, which is in PATH or among those that Debian has for root. Without it the test is
// missing something.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		Missing(t, "no program %s", name)
	}
	return path
}

// DefaultSignals has the processes that this one starts do at HUP, INT and QUIT what the system does by default; a TestMain
// calls it. Whoever started the tests may ignore these signals, as nohup(1) and a shell's background jobs do, and a process
// inherits that, but not what this one catches.
func DefaultSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // the tests themselves go on as before
		}
	}
}

// Parallel lets up to n tests that call t.Parallel run at once, unless the flag -parallel says otherwise. The TestMain of a package whose
// tests mostly wait calls it: by default they are as many as there are processors.
func Parallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // it is no test
	}
}
