package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

const callLimit = 30 * time.Second

func newJob(t testing.TB, kind string, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := job.New(kind, []byte(`{"n":1}`), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func newJobs(t testing.TB, n int, kind string, opts ...job.EnqueueOption) []*job.Job {
	t.Helper()
	jobs := make([]*job.Job, n)
	for i := range jobs {
		jobs[i] = newJob(t, kind, opts...)
	}
	return jobs
}

func insert(t testing.TB, s job.Store, jobs ...*job.Job) {
	t.Helper()
	if _, err := s.Insert(context.WithoutCancel(t.Context()), jobs...); err != nil {
		t.Fatal(err)
	}
}

// claimed claims up to n jobs of queues for a worker's session.
func claimed(t testing.TB, s job.Store, session job.Session, n int, change func(c *job.Claim), queues ...string) []*job.Job {
	t.Helper()
	c := job.Claim{Worker: fmt.Sprint("w", session), Session: session, Limit: n, Lease: time.Hour}
	for _, q := range queues {
		c.Queues = append(c.Queues, job.QueueLimit{Queue: q, Limit: n})
	}
	if change != nil {
		change(&c)
	}
	got, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return got.Jobs
}

// TestOutOfMemory tests that no job is inserted when the memory is full, and that calls for existing jobs still work.
func TestOutOfMemory(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	insert(t, s, newJobs(t, 20, "k")...)
	insert(t, s, newJobs(t, 5, "k", job.Queue("keyed"), job.LimitKey("a"))...)
	held := claimed(t, s, 1, 10, nil, "default")
	insert(t, s, newJobs(t, 300, "many", job.Queue("many"))...)
	many := claimed(t, s, 1, 300, nil, "many")
	server.do(t, "CONFIG", "SET", "maxmemory", "1")
	for _, n := range []int{1, 3, 270} {
		if _, err := s.Insert(t.Context(), newJobs(t, n, "late")...); err == nil || !strings.Contains(err.Error(), "is out of memory, so that no job can be inserted") {
			t.Errorf("insert of %d: %v", n, err)
		}
	}
	held[0].State, held[1].State, held[2].State = job.Completed, job.Queued, job.Discarded
	if lost, err := s.Settle(t.Context(), 1, job.Outcome{Job: held[0], Then: newJobs(t, 2, "follows")}, job.Outcome{Job: held[1]}, job.Outcome{Job: held[2], Throttle: time.Hour}); err != nil || len(lost) != 0 {
		t.Errorf("settle lost %v: %v", lost, err)
	}
	for _, j := range many {
		j.State = job.Canceled
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(many...)...); err != nil || len(lost) != 0 || len(many) != 300 {
		t.Errorf("settle of %d lost %v: %v", len(many), lost, err)
	}
	if _, err := s.Renew(t.Context(), job.Renewal{Worker: "w1", Session: 1, Lease: time.Hour, Info: job.WorkerInfo{Started: time.Now()}}); err != nil {
		t.Errorf("renew: %v", err)
	}
	if got := claimed(t, s, 1, 3, nil, "keyed"); len(got) != 3 {
		t.Errorf("claimed %d, want 3", len(got))
	}
	if done, err := s.Apply(t.Context(), job.Filter{States: []job.State{job.Discarded}, Limit: 10}, job.ActionDelete); err != nil || done.Changed != 1 {
		t.Errorf("delete: %+v, %v", done, err)
	}
	if n, err := s.Prune(t.Context(), map[job.State]time.Duration{job.Completed: 0}, 10); err != nil || n.Deleted != 1 {
		t.Errorf("pruned %d: %v", n.Deleted, err)
	}
	server.do(t, "CONFIG", "SET", "maxmemory", "0")
	insert(t, s, newJob(t, "late"))
	counts, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.Kind == "late" && c.N != 1 || c.Kind == "follows" && c.N != 2 {
			t.Errorf("counts are %+v", counts)
		}
	}
}

// TestScriptsAreLoadedAgain has the server forget its scripts, as after a failover to another server.
func TestScriptsAreLoadedAgain(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	for range 3 {
		server.do(t, "SCRIPT", "FLUSH")
		insert(t, s, newJob(t, "k"))
		server.do(t, "SCRIPT", "FLUSH")
		got := claimed(t, s, 1, 1, nil, "default")
		server.do(t, "SCRIPT", "FLUSH")
		got[0].State = job.Completed
		if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got...)...); err != nil || len(lost) > 0 {
			t.Fatal(lost, err)
		}
	}
}

// TestServerComesBack kills a server while one caller waits and many insert: acknowledged jobs are there afterwards, and all
// callers continue.
func TestServerComesBack(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for round := range 3 {
			stop, cancel := context.WithCancel(ctx)
			defer cancel()
			woken := make(chan error, 1)
			meanwhile.Go(ctx, func(ctx context.Context) error {
				for ctx.Err() == nil { // until it is notified of a job in queue "after"
					if _, err := s.Wait(ctx, "after"); err == nil {
						got, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 9, Queues: []job.QueueLimit{{Queue: "after", Limit: 1}}, Limit: 1, Lease: time.Hour})
						if err == nil && len(got.Jobs) > 0 {
							break
						}
					}
					if meanwhile.Sleep(ctx, 10*time.Millisecond) != nil {
						break
					}
				}
				woken <- nil
				return nil
			})
			var acknowledged [8][]job.ID
			begun := make(chan struct{}, 2*len(acknowledged)) // receives when a job was acknowledged, or when none will be
			inserters := make([]*meanwhile.Task[struct{}], len(acknowledged))
			for i := range acknowledged {
				inserters[i] = meanwhile.Go(ctx, func(ctx context.Context) error {
					defer func() { begun <- struct{}{} }()
					for stop.Err() == nil {
						j := newJob(t, "k", job.Queue("q"))
						call, cancel := context.WithTimeout(ctx, callLimit)
						_, err := s.Insert(call, j)
						cancel()
						if err != nil {
							return nil // the server is gone
						}
						if acknowledged[i] = append(acknowledged[i], j.ID); len(acknowledged[i]) == 1 {
							begun <- struct{}{}
						}
					}
					return nil
				})
			}
			select {
			case <-begun:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := meanwhile.Sleep(ctx, 200*time.Millisecond); err != nil { // so that more jobs are inserted
				return err
			}
			server.kill(t)
			cancel()
			for _, task := range inserters {
				if _, err := task.Wait(ctx); err != nil {
					return err
				}
			}
			server.start(t)
			all := slices.Concat(acknowledged[:]...)
			found := 0
			for part := range slices.Chunk(all, 500) {
				jobs, err := s.List(ctx, job.Filter{IDs: part, Limit: len(part)})
				if err != nil {
					return fmt.Errorf("round %d: %w", round, err)
				}
				found += len(jobs)
			}
			if found != len(all) || len(all) == 0 {
				t.Errorf("round %d: of %d acknowledged jobs %d are there", round, len(all), found)
			}
			insert(t, s, newJob(t, "k", job.Queue("after")))
			<-woken
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFirstWait inserts a job before the first call of Wait: that call returns for the job, long before its timeout.
func TestFirstWait(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	insert(t, s, newJob(t, "k"))
	ctx, cancel := context.WithTimeout(t.Context(), job.LongestWait-time.Second)
	defer cancel()
	if _, err := s.Wait(ctx, job.DefaultQueue); err != nil {
		t.Errorf("wait: %v", err)
	}
}

// TestParts inserts more jobs than are sent at once.
func TestParts(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	inserted := 0
	for _, test := range []struct {
		n     int
		opts  []job.EnqueueOption
		parts bool
	}{
		{1000, nil, false},
		{1001, nil, true},
		{250, []job.EnqueueOption{job.In(time.Hour)}, false},
		{251, []job.EnqueueOption{job.In(time.Hour)}, true},
	} {
		server.do(t, "CONFIG", "RESETSTAT")
		jobs := newJobs(t, test.n, "k", test.opts...)
		insert(t, s, jobs...)
		inserted += test.n
		if sent := strings.Contains(server.do(t, "INFO", "commandstats"), "cmdstat_persist:"); sent != test.parts {
			t.Errorf("%d jobs are sent in parts: %v, want %v", test.n, sent, test.parts)
		}
		there := jobs[test.n/2]
		if _, err := s.Insert(t.Context(), append(newJobs(t, test.n-1, "k"), there)...); err == nil || !strings.Contains(err.Error(), there.ID.String()+" is there already") {
			t.Errorf("insert with a job that is there: %v", err)
		}
	}
	counts, err := s.Counts(t.Context())
	if err != nil || len(counts) != 1 || counts[0].N != int64(inserted) {
		t.Errorf("counts are %+v, %v; want %d jobs", counts, err, inserted)
	}
}

// TestNames tests that two stores on one server do not see each other's jobs, and create no other keys.
func TestNames(t *testing.T) {
	server := ownServer(t)
	a, b := open(t, "redis://"+server.address()+"?name=a"), open(t, "redis://"+server.address()+"?name=b")
	var names []string
	for _, name := range []string{"{}", "}{", "{b}:x", ":", "{", "q", "*", "äöü", "😀", strings.Repeat("x", job.MaxName), strings.Repeat("é", job.MaxName/2)} {
		names = append(names, name)
		insert(t, a, newJob(t, name, job.Queue(name), job.Unique(name[:min(len(name), 100)]), job.LimitKey(name)), newJob(t, name, job.Queue(name)))
	}
	got := claimed(t, a, 1, 100, nil, names...)
	if len(got) != 2*len(names) {
		t.Fatalf("claimed %d, want %d", len(got), 2*len(names))
	}
	if jobs, err := b.List(t.Context(), job.Filter{Limit: 100}); err != nil || len(jobs) > 0 {
		t.Errorf("the other store lists %d jobs: %v", len(jobs), err)
	}
	if counts, err := b.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("the other store counts %+v: %v", counts, err)
	}
	insert(t, b, got[0])
	for _, j := range got {
		if j.Kind != j.Queue {
			t.Errorf("kind %q was claimed from queue %q", j.Kind, j.Queue)
		}
		j.State = job.Completed
	}
	if lost, err := a.Settle(t.Context(), 1, job.Outcomes(got...)...); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	if n := strings.TrimSpace(server.do(t, "EVAL", `
		local n = 0
		for _, key in ipairs(redis.call('KEYS', '*')) do if not string.find(key, '^{[ab]}:') then n = n + 1 end end
		return n`, "0")); n != ":0" {
		t.Errorf("%s keys are outside of the stores", n)
	}
}

// TestNothingIsLeft finishes and deletes all jobs: the keys that remain do not grow with the number of jobs.
func TestNothingIsLeft(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	ctx := t.Context()
	for i := range 3 {
		for _, opts := range [][]job.EnqueueOption{
			{}, {job.LimitKey(fmt.Sprint("key", i))}, {job.Unique(fmt.Sprint(i)), job.Meta(job.MetaID, fmt.Sprint("id", i))}, {job.In(time.Hour)}, {job.Queue("limited"), job.LimitKey("a")},
		} {
			insert(t, s, newJobs(t, 1, "k", opts...)...)
		}
	}
	if err := s.SetLimits(ctx, "limited", job.Limits{Running: 2, EachKey: job.KeyLimits{InOrder: true}}); err != nil {
		t.Fatal(err)
	}
	for session := range job.Session(5) {
		for _, j := range claimed(t, s, session+1, 4, nil, "default", "limited") {
			if j.State = job.Completed; j.LimitKey != "" {
				j.State = job.Discarded
			}
			if session%2 == 0 {
				if _, err := s.Apply(ctx, job.Filter{IDs: []job.ID{j.ID}, Limit: 1}, job.ActionCancel); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Settle(ctx, session+1, job.Outcome{Job: j}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Leave(ctx, fmt.Sprint("w", session+1), session+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetLimits(ctx, "limited", job.Limits{}); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Apply(ctx, s, job.Filter{}, job.ActionDelete); err != nil {
		t.Fatal(err)
	}
	claimed(t, s, 9, 10, nil, "default", "limited") // reads the lanes that have changed
	if err := s.Leave(ctx, "w9", 9); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(ctx, nil, 10); err != nil {
		t.Fatal(err)
	}
	left := server.do(t, "EVAL", "local k = redis.call('KEYS', '*') table.sort(k) return table.concat(k, ' ')", "0")
	_, left, _ = strings.Cut(left, "\r\n")
	if want := "{meanwhile}:meta"; strings.TrimSpace(left) != want {
		t.Errorf("left are %s, want %s", left, want)
	}
}

// TestMany claims more jobs than one run of a script returns.
func TestMany(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	t.Run("expired", func(t *testing.T) {
		insert(t, s, newJobs(t, 700, "k", job.Queue("expired"))...)
		if n := len(claimed(t, s, 1, 700, nil, "expired")); n != 700 {
			t.Fatalf("claimed %d, want 700", n)
		}
		if err := s.Leave(t.Context(), "w1", 1); err != nil {
			t.Fatal(err)
		}
		got := claimed(t, s, 2, 1000, func(c *job.Claim) { c.Expired = true }, "expired")
		if len(got) != 700 || got[699].Crashed != 1 {
			t.Errorf("claimed %d of the expired, want 700", len(got))
		}
	})
	t.Run("again", func(t *testing.T) {
		insert(t, s, newJobs(t, 750, "k", job.Queue("again"))...)
		if n := len(claimed(t, s, 7, 300, func(c *job.Claim) { c.Call = 1 }, "again")); n != 300 {
			t.Fatalf("claimed %d, want 300", n)
		}
		got := claimed(t, s, 7, 1000, func(c *job.Claim) { c.Call, c.Since, c.Expired = 2, 1, true }, "again")
		if len(got) != 750 || got[0].Attempt != 1 {
			t.Errorf("claimed %d, want the 300 without an answer and 450 others", len(got))
		}
	})
	t.Run("behind others", func(t *testing.T) {
		insert(t, s, newJobs(t, 4500, "other", job.Queue("crowded"))...)
		insert(t, s, newJobs(t, 300, "mine", job.Queue("crowded"))...)
		got := claimed(t, s, 3, 250, func(c *job.Claim) { c.Kinds = []string{"mine"} }, "crowded")
		if len(got) != 250 {
			t.Errorf("claimed %d, want 250", len(got))
		}
		got = claimed(t, s, 3, 250, func(c *job.Claim) { c.Kinds = []string{"mine"} }, "crowded")
		if len(got) != 50 {
			t.Errorf("claimed %d, want the 50 that are left", len(got))
		}
	})
	t.Run("queues", func(t *testing.T) {
		var names []string
		for i := range 250 {
			names = append(names, fmt.Sprint("q", i))
			insert(t, s, newJob(t, "k", job.Queue(names[i])))
		}
		got := claimed(t, s, 4, 240, nil, names...)
		for i, j := range got {
			if j.Queue != names[i] {
				t.Fatalf("job %d is of queue %s, want %s", i, j.Queue, names[i])
			}
		}
		if len(got) != 240 {
			t.Errorf("claimed %d, want 240", len(got))
		}
	})
	t.Run("keys", func(t *testing.T) {
		var jobs []*job.Job
		for i := range 900 {
			jobs = append(jobs, newJob(t, "k", job.Queue("keys"), job.LimitKey(fmt.Sprint(i))))
		}
		insert(t, s, jobs...)
		if n := len(claimed(t, s, 5, 1000, nil, "keys")); n != 900 {
			t.Errorf("claimed %d, want 900", n)
		}
	})
	t.Run("large args", func(t *testing.T) {
		jobs := newJobs(t, 30, "k", job.Queue("large"))
		for _, j := range jobs {
			j.Args = []byte(`"` + strings.Repeat("x", 400_000) + `"`)
		}
		insert(t, s, jobs...)
		if listed, err := s.List(t.Context(), job.Filter{Queues: []string{"large"}, Limit: 30}); err != nil || len(listed) != 30 {
			t.Errorf("listed %d: %v", len(listed), err)
		}
		if n := len(claimed(t, s, 6, 30, nil, "large")); n != 30 {
			t.Errorf("claimed %d, want 30", n)
		}
	})
}

func TestMinutes(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	jobtest.TestMinutes(t, s, func(by time.Duration) {
		if err := s.MoveBack(t.Context(), by); err != nil {
			t.Fatal(err)
		}
	}, func() int {
		n, err := s.Minutes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	})
}
