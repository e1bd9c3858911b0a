package logs

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const reportEvery = time.Minute

// An errorReport tells of trouble, at most once in a while: a log must not be a reason for more of it.
type errorReport struct {
	notify func(error) // nil: a line to os.Stderr

	mu   sync.Mutex
	last time.Time
}

func (e *errorReport) report(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.last.IsZero() && time.Since(e.last) < reportEvery {
		return
	}
	e.last = time.Now()
	if e.notify != nil {
		e.notify(err)
		return
	}
	fmt.Fprintf(os.Stderr, "logs: %v\n", err)
}
