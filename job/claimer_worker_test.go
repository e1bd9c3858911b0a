package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A failing store returns errors from the next calls of some methods.
type failing struct {
	job.Store
	renewals []error // the errors of the next calls of Renew; nil calls the store
	settles  []error
	lists    [][]string // calls of Workers, by the names in them
}

func nextOf(errs *[]error) (err error) {
	if len(*errs) > 0 {
		err, *errs = (*errs)[0], (*errs)[1:]
	}
	return err
}

func (s *failing) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if err := nextOf(&s.renewals); err != nil {
		return job.Renewed{}, err
	}
	return s.Store.Renew(ctx, r)
}

func (s *failing) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	s.lists = append(s.lists, names)
	return s.Store.Workers(ctx, names...)
}

func (s *failing) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if err := nextOf(&s.settles); err != nil {
		return nil, err
	}
	return s.Store.Settle(ctx, session, outcomes...)
}

// TestClaimerKeepsAnOrderThatItCouldNotList: a command that was received from the store takes effect even if the store fails before the program is
// listed with it.
func TestClaimerKeepsAnOrderThatItCouldNotList(t *testing.T) {
	for do, want := range map[job.CommandKind]job.WorkerState{job.CommandQuiet: job.WorkerQuiet, job.CommandStop: job.WorkerStops} {
		synctest.Test(t, func(t *testing.T) {
			r := newIdleRig(t)
			store := &failing{Store: r.store}
			claimer := job.NewClaimer(store)
			extend := func() (job.Extended, error) {
				return claimer.Extend(r.ctx, job.WorkerInfo{Name: "ruby-1"}, time.Minute, job.Leased{Session: 1})
			}
			_, err := extend()
			r.must(err)
			r.order("ruby-1", job.Command{Do: do})
			store.renewals = []error{nil, errFlaky}
			if _, err := extend(); !errors.Is(err, errFlaky) {
				t.Errorf("got %v, want the error of the store", err)
			}
			if got, err := claimer.Fetch(r.ctx, job.Fetch{Worker: "ruby-1", Queues: []string{"q"}}); err != nil || got.State != want {
				t.Errorf("fetched in state %s, %v, want %s", got.State, err, want)
			}
			if got, err := extend(); err != nil || got.State != want {
				t.Errorf("the state is %s, %v, want %s", got.State, err, want)
			}
			if w := r.worker("ruby-1"); w.Quiet != (do == job.CommandQuiet) || w.Stopping != (do == job.CommandStop) {
				t.Errorf("after %q the worker is listed as %+v", do, w)
			}
			// The command is not applied again after the program was resumed through another server.
			_, err = job.NewClaimer(r.store).Extend(r.ctx, job.WorkerInfo{Name: "ruby-1"}, time.Minute)
			r.must(err)
			r.order("ruby-1", job.Command{Do: job.CommandResume})
			_, err = job.NewClaimer(r.store).Extend(r.ctx, job.WorkerInfo{Name: "ruby-1"}, time.Minute)
			r.must(err)
			if got, err := extend(); err != nil || got.State != job.WorkerRuns {
				t.Errorf("after resume the state is %s, %v", got.State, err)
			}
		})
	}
}

// TestClaimerHearsOrdersWhileItWaits: a waiting fetch returns no jobs after the program was told to be quiet.
func TestClaimerHearsOrdersWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		time.AfterFunc(5*time.Second, func() { c.order("ruby-1", job.Command{Do: job.CommandQuiet}) })
		time.AfterFunc(30*time.Second, func() { c.enqueue() })
		begun := time.Now()
		got := c.fetch(job.Fetch{Wait: time.Minute})
		if len(got.Jobs) > 0 || got.State != job.WorkerQuiet || time.Since(begun) > 20*time.Second {
			t.Errorf("after %v: %d jobs in state %s, want none and quiet within some seconds of the command", time.Since(begun), len(got.Jobs), got.State)
		}
	})
}

// TestClaimerHearsOrdersInTime: a waiting fetch returns within ten seconds of a command, even if jobs that are not for it wake it in between.
func TestClaimerHearsOrdersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		time.AfterFunc(time.Millisecond, func() { c.order("ruby-1", job.Command{Do: job.CommandStop}) })
		time.AfterFunc(9500*time.Millisecond, func() { c.enqueue() })
		begun := time.Now()
		got := c.fetch(job.Fetch{Wait: time.Minute, Kinds: []string{"another"}})
		if got.State != job.WorkerStops || time.Since(begun) > 10*time.Second {
			t.Errorf("after %v: state %s, want stop within ten seconds", time.Since(begun), got.State)
		}
	})
}

// TestClaimersCountTogether: the counts of two servers for one program are added up.
func TestClaimersCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		seconds(1)
		first, second := c.claimer, job.NewClaimer(c.store)
		const jobs = 3
		for i := range jobs {
			if c.claimer = first; i > 0 {
				c.claimer = second
			}
			c.enqueue()
			c.finish(c.fetchOne())
			seconds(1)
		}
		for _, claimer := range []*job.Claimer{first, second} {
			seconds(3)
			_, err := claimer.Extend(c.ctx, job.WorkerInfo{Name: "ruby-1"}, time.Minute)
			c.must(err)
		}
		if got := sum(c.stats()); got.Completed != jobs || got.Run.Count() != jobs || got.Wait.Count() != jobs {
			t.Errorf("%d completed, %d ran, %d waited, want %d of each", got.Completed, got.Run.Count(), got.Wait.Count(), jobs)
		}
	})
}

// TestClaimerListsThreadsTogether: threads of a program that fetch from different queues are one worker. It is listed with all queues, and no more
// often.
func TestClaimerListsThreadsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIdleRig(t)
		store := &failing{Store: r.store}
		claimer := job.NewClaimer(store)
		fetch := func(f job.Fetch) {
			t.Helper()
			f.Worker = "ruby-1"
			_, err := claimer.Fetch(r.ctx, f)
			r.must(err)
		}
		both := func() {
			t.Helper()
			fetch(job.Fetch{Queues: []string{"a", "b"}, Kinds: []string{"k"}})
			fetch(job.Fetch{Queues: []string{"b", "c"}, Kinds: []string{"l"}})
		}
		for range 5 {
			both()
			seconds(1)
		}
		if len(store.lists) > 2 {
			t.Errorf("the program was listed %d times by ten calls in five seconds, want twice", len(store.lists))
		}
		for _, names := range store.lists {
			if !slices.Equal(names, []string{"ruby-1"}) {
				t.Errorf("the workers %q were read, want the program alone: a store may have thousands", names)
			}
		}
		if w := r.worker("ruby-1"); fmt.Sprint(w.Queues, w.Kinds) != "[a b c] [k l]" {
			t.Errorf("the program is listed with %v and %v", w.Queues, w.Kinds)
		}
		fetch(job.Fetch{Queues: []string{"a"}})
		if w := r.worker("ruby-1"); len(w.Kinds) > 0 {
			t.Errorf("a program with a thread that fetches all kinds is listed with %v", w.Kinds)
		}
		for range 90 {
			seconds(1)
			fetch(job.Fetch{Queues: []string{"d"}})
		}
		if w := r.worker("ruby-1"); !slices.Equal(w.Queues, []string{"d"}) {
			t.Errorf("a minute after fetches from other queues the program is listed with %v, want d", w.Queues)
		}
	})
}

func TestClaimerRefusesToExtend(t *testing.T) {
	c := newCounter(t)
	for want, test := range map[string]struct {
		worker string
		lease  time.Duration
	}{
		"the worker has no name": {"", time.Minute},
		"a lease of 0s":          {"ruby-1", 0},
		"a lease of -1s":         {"ruby-1", -time.Second},
	} {
		if _, err := c.claimer.Extend(c.ctx, job.WorkerInfo{Name: test.worker}, test.lease); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if workers, err := c.store.Workers(c.ctx); err != nil || len(workers) > 0 {
		t.Errorf("workers are %+v, %v, want none", workers, err)
	}
}
