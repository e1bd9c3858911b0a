package job

import (
	"log/slog"
	"sync"
	"time"
)

const (
	failuresLogged = 10          // per kind and window; the others are counted
	failureWindow  = time.Second // by the clock of the process
)

// A failureLog logs failed attempts that will be retried. If a server that all jobs of a kind need is down, thousands of attempts fail with the
// same error: beyond a few each second they are only counted.
type failureLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	kinds map[string]*failureCount // one entry for each of the worker's handlers, so there are few
}

type failureCount struct {
	since           time.Time // when the window began
	logged, omitted int       // in it
}

// failed logs the newest failure of j, which is retried at next. The stack of a panic is kept with the failure, and not logged.
func (l *failureLog) failed(now time.Time, j *Job, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.kinds[j.Kind]
	if c == nil {
		if l.kinds == nil {
			l.kinds = map[string]*failureCount{}
		}
		c = &failureCount{since: now}
		l.kinds[j.Kind] = c
	}
	if now.Sub(c.since) >= failureWindow {
		l.report(j.Kind, c)
		*c = failureCount{since: now}
	}
	if c.logged == failuresLogged {
		c.omitted++
		return
	}
	c.logged++
	l.logger.Warn("job: an attempt failed",
		"job.id", j.ID, "job.kind", j.Kind, "job.queue", j.Queue, "job.attempt", j.Attempt, "error", j.LastError(), "next", next)
}

// flush logs how many failures were omitted in windows that are over or, with all, in all windows.
func (l *failureLog) flush(now time.Time, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, c := range l.kinds {
		if all || now.Sub(c.since) >= failureWindow {
			l.report(kind, c)
			delete(l.kinds, kind)
		}
	}
}

func (l *failureLog) report(kind string, c *failureCount) {
	if c.omitted > 0 {
		l.logger.Warn("job: more attempts failed than are logged", "job.kind", kind, "omitted", c.omitted, "since", c.since)
	}
}
