// Package loglimit keeps messages that any client can cause, such as those about failed handshakes, from filling the log.
package loglimit

import (
	"log/slog"
	"sync"
	"time"
)

const (
	most   = 10          // lines in each window
	window = time.Minute // starts with the first line after the previous window
)

// A Limit logs up to ten warnings a minute, and counts the others. Its zero value is ready. It may be used concurrently.
type Limit struct {
	mu              sync.Mutex
	since           time.Time // when the window began
	logged, omitted int       // in the window
}

// Warn logs a warning, unless ten were logged in the current minute. The tenth has the attribute "silent_until", the time at which the next one may
// be logged; that one has "omitted", the number of warnings that were not logged.
func (l *Limit) Warn(logger *slog.Logger, message string, args ...any) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock() // after logging, so that the lines with the two attributes are in order
	if now.Sub(l.since) >= window {
		if l.omitted > 0 {
			args = append(args, "omitted", l.omitted)
		}
		l.since, l.logged, l.omitted = now, 0, 0
	}
	if l.logged == most {
		l.omitted++
		return
	}
	if l.logged++; l.logged == most {
		args = append(args, "silent_until", l.since.Add(window))
	}
	logger.Warn(message, args...)
}
