package logs

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const reportEvery = time.Minute

// An errorReport reports errors of a sender, at most once a minute, so that a failing log server does not flood standard error.
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
