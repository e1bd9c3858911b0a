package testenv

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
)

// A recorder records how a test ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end("failed: " + fmt.Sprintf(format, args...))
}

func (r *recorder) Skipf(format string, args ...any) {
	r.end("skipped: " + fmt.Sprintf(format, args...))
}

func (r *recorder) end(how string) {
	r.ended = how
	runtime.Goexit()
}

// ending returns how a test ends that calls do.
func ending(do func(t testing.TB)) string {
	r, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		do(r)
	}()
	<-done
	return r.ended
}

func TestMissing(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped: no server at 7", "0": "skipped: no server at 7", "1": "failed: no server at 7"} {
		t.Setenv("MEANWHILE_CI", ci)
		if got := ending(func(t testing.TB) { Missing(t, "no server at %d", 7) }); got != want {
			t.Errorf("MEANWHILE_CI=%s: got %q, want %q", ci, got, want)
		}
	}
}

func TestFewerChecks(t *testing.T) {
	const law = "rapid.checks"
	defer func(flags *flag.FlagSet) { flag.CommandLine = flags }(flag.CommandLine)
	flag.CommandLine = flag.NewFlagSet("a program", flag.ContinueOnError)
	flag.Int(law, 100, "a stand-in for that of rapid")
	if err := flag.CommandLine.Parse(nil); err != nil {
		t.Fatal(err)
	}
	checks := func() string { return flag.Lookup(law).Value.String() }
	t.Setenv("MEANWHILE_LONG", "1")
	FewerChecks(30)
	if got := checks(); got != "100" {
		t.Errorf("when the tests that take long are wanted, a law is checked %s times", got)
	}
	t.Setenv("MEANWHILE_LONG", "")
	FewerChecks(30)
	if got := checks(); got != "30" {
		t.Errorf("a law is checked %s times, want 30", got)
	}
	FewerChecks(7)
	if got := checks(); got != "30" {
		t.Errorf("where the flag is given, a law is checked %s times, want 30", got)
	}
}
