package testenv

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// A recorder is a test of which is known how it ended.
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

// ending returns how a test ends that does something.
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

func TestProgram(t *testing.T) {
	t.Setenv("MEANWHILE_CI", "")
	if got, want := ending(func(t testing.TB) { Program(t, "no-such-program") }), "skipped: no program no-such-program"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var path string
	if got := ending(func(t testing.TB) { path = Program(t, "go") }); got != "" {
		t.Fatalf("the go command: %s", got)
	}
	if _, err := os.Stat(path); err != nil || !strings.Contains(path, "go") {
		t.Errorf("got %q, %v", path, err)
	}
}
