// Package testenv is for tests that need something which not every machine has: a server, a program, a file, time.
//
// Without it such a test skips, which go test shows only with -v or -json; so the tests of this package write one line about it to the terminal, if
// there is one. With MEANWHILE_CI=1 in the environment the test fails instead, so that CI shows all of them to pass. Tests that take long always skip
// unless MEANWHILE_LONG=1 is set.
package testenv

import (
	"flag"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
)

// Long reports whether to run the tests that take long: with MEANWHILE_LONG=1 in the environment, as in CI.
func Long() bool { return os.Getenv("MEANWHILE_LONG") == "1" }

// Rounds returns how often a test repeats what it does: a few times, or many if the tests that take long run.
func Rounds(few, many int) int {
	if Long() {
		return many
	}
	return few
}

// LongTest skips the rest of a test that takes long, unless [Long] is true.
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

// FewerChecks makes rapid check each law n times instead of a hundred, unless [Long] is true or the flag -rapid.checks says otherwise. The TestMain
// of a package whose laws take seconds calls it.
func FewerChecks(n int) {
	if Long() {
		return
	}
	setDefault("rapid.checks", n)
}

// DefaultSignals gives child processes the default handling of SIGHUP, SIGINT and SIGQUIT; a TestMain calls it. Whoever started the tests may ignore
// these signals, as nohup(1) and background jobs of a shell do. A child process inherits ignored signals, but not those that this process catches.
func DefaultSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // the tests themselves go on as before
		}
	}
}

// Parallel lets up to n tests that call t.Parallel run at once, unless the flag -parallel says otherwise. The TestMain of a package whose tests
// mostly wait calls it: the default is the number of processors.
func Parallel(n int) { setDefault("test.parallel", n) }

// setDefault sets a flag that the command line leaves out.
func setDefault(name string, n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		panic(err) // no such flag: not in a test, or without rapid
	}
}
