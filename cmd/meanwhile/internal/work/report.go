package work

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// A report prints failures, one per line, and counts events.
type report struct {
	silent bool
	mu     sync.Mutex // for out
	out    io.Writer

	completed, retried, canceled, discarded, released, lost atomic.Int64
}

// observe is called with every event.
func (r *report) observe(e job.Event) {
	switch e.Kind {
	case job.JobCompleted:
		r.completed.Add(1)
	case job.JobRetried:
		r.retried.Add(1)
		r.print(e, "again in "+probe.Span(e.Delay))
	case job.JobSnoozed:
		r.print(e, "again in "+probe.Span(e.Delay))
	case job.JobCanceled:
		r.canceled.Add(1)
		r.print(e, "canceled")
	case job.JobDiscarded:
		r.discarded.Add(1)
		r.print(e, "discarded")
	case job.JobReleased:
		r.released.Add(1)
		r.print(e, "released")
	case job.JobLost:
		r.lost.Add(1)
		r.print(e, "lost")
	case job.StoreFailed:
		if e.N&(e.N-1) == 0 { // the first, the second, the fourth … consecutive one
			r.line("store: %s", text(e.Err))
		}
	case job.StoreRecovered:
		r.line("store: it answers again")
	}
}

// print prints the result of a job.
func (r *report) print(e job.Event, what string) {
	if e.Job.Used() > 0 {
		what = fmt.Sprintf("attempt %d of %d, %s", e.Job.Used(), e.Job.MaxAttempts, what)
	}
	r.line("%s  %s  %s: %s", e.Job.ID, e.Job.Kind, what, text(e.Err))
}

func (r *report) line(format string, args ...any) {
	if r.silent {
		return
	}
	line := time.Now().Format("2006-01-02 15:04:05  ") + probe.Printable(fmt.Sprintf(format, args...)) + "\n"
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, line)
}

// text returns the first line of an error.
func text(err error) string {
	if err == nil {
		return "no error"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// summary describes what happened.
func (r *report) summary(took time.Duration) string {
	done := r.completed.Load() + r.canceled.Load() + r.discarded.Load()
	said := fmt.Sprintf("%s in %s: %s completed, %s discarded", probe.Count(int(done), "job"), probe.Span(took),
		probe.Number(int(r.completed.Load())), probe.Number(int(r.discarded.Load())))
	for _, more := range []struct {
		n    int64
		text string
	}{{r.canceled.Load(), "canceled"}, {r.released.Load(), "released"}, {r.lost.Load(), "lost"}} {
		if more.n > 0 {
			said += fmt.Sprintf(", %s %s", probe.Number(int(more.n)), more.text)
		}
	}
	if n := r.retried.Load(); n > 0 {
		said += fmt.Sprintf("; %s tried again", probe.Count(int(n), "attempt"))
	}
	return said
}
