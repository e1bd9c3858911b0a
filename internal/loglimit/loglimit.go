// Package loglimit keeps messages that any client can cause, such as those about failed handshakes, from filling the log.
package loglimit

import (
	"log/slog"
	"sync"
	"time"
)

const (
	most   = 10          // lines in each window
	window = time.Minute // from a line that is the first after the window before
)

// A Limit logs up to ten warnings a minute, and counts the others. Its zero value is ready, and may be used by many goroutines at once.
type Limit struct {
	mu              sync.Mutex
	since           time.Time // when the window began
	logged, omitted int       // in it
}

// Warn logs a warning, unless there were ten within the minute. The tenth has "silent_until", when the next may be logged; that one has "omitted", how
// many were not.
func (l *Limit) Warn(logger *slog.Logger, message string, args ...any) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock() // after the line, so that those with the two attributes stand where they belong
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
