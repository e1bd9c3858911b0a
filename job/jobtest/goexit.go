package jobtest

import (
	"errors"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// A goexit detects a handler that called runtime.Goexit, as t.Fatal does: that ends the goroutine of the handler, but not that of
// the test.
type goexit struct {
	stop func() // stops the worker

	mu   sync.Mutex
	kind string // of the first job whose handler called it
}

// observe receives the events of the worker.
func (g *goexit) observe(e job.Event) {
	if e.Job == nil || !errors.Is(e.Err, meanwhile.ErrGoexit) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kind == "" {
		g.kind = e.Job.Kind
		g.stop()
	}
}

// endTest ends the test in its own goroutine if a handler called runtime.Goexit.
func (g *goexit) endTest(t testing.TB, caller string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.kind == "":
	case t.Skipped():
		t.SkipNow()
	default:
		t.Fatalf("%s: the handler of %s called runtime.Goexit, as Fatal and FailNow do, which ends the test", caller, g.kind)
	}
}
