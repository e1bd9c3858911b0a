package jobtest

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Run runs one attempt of a job without a store, as a worker does, and returns the outcome: Kind is how the attempt ended, such
// as [job.JobCompleted] or [job.JobRetried], Err why it failed, Delay when it would be due again, and Job is the job as a store
// would store it, with its Result, Failures and Records. j is not changed. To see a third attempt, set its Attempt to 2. A
// handler that calls [job.Complete] needs a store: use [Drain]. If the handler, or a task of it, ends the test with t.Fatal,
// t.FailNow or t.Skip, or calls runtime.Goexit, Run does not return: it ends the test.
func Run(t testing.TB, handler job.Handler, j *job.Job) job.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one := *j
	one.Queue, one.RunAt = cmp.Or(one.Queue, job.DefaultQueue), time.Now()
	var ended job.Event
	left := goexit{stop: cancel}
	w := job.NewWorker(&single{job: &one}, job.Config{
		Queues: []job.QueueConfig{{Name: one.Queue}},
		Grace:  -1,
		Logger: logger(t),
		Observe: func(e job.Event) {
			left.observe(e)
			switch e.Kind {
			case job.JobCompleted, job.JobRetried, job.JobSnoozed, job.JobCanceled, job.JobDiscarded:
				ended = e
				kept := *e.Job
				ended.Job = &kept
				cancel()
			}
		},
	}, handler)
	if err := w.Run(ctx); err != nil {
		t.Fatalf("jobtest.Run: %v", err)
	}
	left.endTest(t, "jobtest.Run")
	if ended.Job == nil {
		t.Fatalf("jobtest.Run: the attempt of %s did not end before the test did", j.Kind)
	}
	return ended
}

// logger returns a logger that writes to the log of the test.
func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// A single is a store for one attempt of one job. It has only the methods that a worker calls.
type single struct {
	job.Store

	mu  sync.Mutex
	job *job.Job // nil once it has been claimed
}

func (s *single) Ping(context.Context) error { return nil }

func (s *single) Claim(_ context.Context, c job.Claim) (job.Claimed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.job
	if j == nil || len(c.Queues) == 0 || c.Limit == 0 {
		return job.Claimed{}, nil
	}
	s.job = nil
	j.State, j.Worker, j.Started = job.Running, c.Worker, time.Now()
	j.Attempt++
	return job.Claimed{Jobs: []*job.Job{j}}, nil
}

func (s *single) Settle(context.Context, job.Session, ...job.Outcome) ([]job.ID, error) {
	return nil, nil
}

func (s *single) Renew(context.Context, job.Renewal) (job.Renewed, error) {
	return job.Renewed{Now: time.Now()}, nil
}

func (s *single) Queues(context.Context) ([]job.QueueInfo, error) { return nil, nil }

func (s *single) Wait(ctx context.Context, _ ...string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *single) Prune(context.Context, map[job.State]time.Duration, int) (job.Pruned, error) {
	return job.Pruned{}, nil
}

func (s *single) Leave(context.Context, string, job.Session) error { return nil }
