package work

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
)

const (
	drainCheckInterval = 200 * time.Millisecond
	lastCall           = 2 * time.Second
)

// awaitDrained returns nil when two checks in a row have found no due or running job of the queues, of any worker. Paused queues
// do not count. Errors of the store are reported by the worker.
func (c *Command) awaitDrained(ctx context.Context, s job.Store) error {
	for quiet := 0; quiet < 2; {
		if err := meanwhile.Sleep(ctx, drainCheckInterval); err != nil {
			return err
		}
		if queues, err := s.Queues(ctx); err == nil && c.drained(ctx, s, queues) {
			quiet++
		} else {
			quiet = 0
		}
	}
	return nil
}

func (c *Command) drained(ctx context.Context, s job.Store, queues []job.QueueInfo) bool {
	for _, q := range queues {
		if c.has(q.Name) && !q.Paused && (q.Running > 0 || q.Wait > 0 && anyDue(ctx, s, q.Name)) {
			return false
		}
	}
	return true
}

// anyDue reports whether a due job of a queue can be run by this command: jobs of other kinds are for other workers. The times of jobs are those of
// the store, whose clock may be ahead of that of this process, so a job that was due when it was enqueued counts, whatever the time is here.
func anyDue(ctx context.Context, s job.Store, queue string) bool {
	for j, err := range job.List(ctx, s, ours(queue)) {
		if err != nil || !j.RunAt.After(j.Created) || !j.RunAt.After(time.Now()) {
			return true
		}
	}
	return false
}

// ours returns a filter for the jobs in queues that this command can run.
func ours(queues ...string) job.Filter {
	return job.Filter{Kinds: []string{httprequest.Kind.Name()}, Queues: queues, States: []job.State{job.Queued}}
}

// left returns how many jobs are still in the queues, and, if this command can run none of them, who runs them.
func (c *Command) left(ctx context.Context, s job.Store) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCall)
	defer cancel()
	queues, err := s.Queues(ctx)
	if err != nil {
		return ""
	}
	left := 0
	var names []string
	for _, q := range queues {
		if c.has(q.Name) {
			left += int(q.Queued)
			names = append(names, q.Name)
		}
	}
	if left == 0 {
		return ""
	}
	said := "; " + probe.Count(left, "job") + " in the " + map[bool]string{true: "queue", false: "queues"}[len(c.Queue) == 1]
	f := ours(names...)
	f.Limit = 1
	if some, err := s.List(ctx, f); err == nil && len(some) == 0 {
		said += " of kinds other than " + httprequest.Kind.Name() + ", which your own workers run"
	}
	return said
}
