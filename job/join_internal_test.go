package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func joinedOf(n int) *Joined {
	j := &Joined{}
	for i := range n {
		j.parts = append(j.parts, &part{index: i})
	}
	return j
}

// TestOwnersStayWhatTheyAre: owners decide where stored jobs are, so they must be the same in every version.
func TestOwnersStayWhatTheyAre(t *testing.T) {
	got := ""
	for i := range 32 {
		got += fmt.Sprint(joinedOf(5).ranked(fmt.Sprint("unique note ", i))[0].index)
	}
	if want := "13001331340022034040344433204124"; got != want {
		t.Errorf("the owners are %s, want %s", got, want)
	}
}

// TestAStoreThatIsAddedTakesItsShare: no key moves between the other stores.
func TestAStoreThatIsAddedTakesItsShare(t *testing.T) {
	const keys = 30_000
	for n := 1; n <= 8; n++ {
		before, after := joinedOf(n), joinedOf(n+1)
		owned, moved := make([]int, n), 0
		for i := range keys {
			key := fmt.Sprint("queue q", i)
			a, b := before.ranked(key)[0].index, after.ranked(key)[0].index
			owned[a]++
			if a != b {
				moved++
				if b != n {
					t.Fatalf("%q moves from store %d to store %d of %d", key, a+1, b+1, n+1)
				}
			}
		}
		for i, got := range owned {
			if want := keys / n; got < want*95/100 || got > want*105/100 {
				t.Errorf("%d stores: store %d owns %d keys, want about %d", n, i+1, got, want)
			}
		}
		if want := keys / (n + 1); moved < want*95/100 || moved > want*105/100 {
			t.Errorf("%d keys move to a store that is added to %d, want about %d", moved, n, want)
		}
	}
}

// stubStore returns what the functions of the test return.
type stubStore struct {
	Store
	ping  func(ctx context.Context) error
	renew func(r Renewal) (Renewed, error)
}

func (s stubStore) Ping(ctx context.Context) error { return s.ping(ctx) }

func (s stubStore) Renew(_ context.Context, r Renewal) (Renewed, error) { return s.renew(r) }

// TestPingOfACallerThatGoesAway: a canceled ping does not count as a failure of the store, and does not delay the next ping.
func TestPingOfACallerThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &part{name: "store 1 of 2", Store: stubStore{ping: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}
		_ = p.lost(errors.New("the reason"))
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := p.ready(ctx, true); err == nil {
			t.Error("the store is ready, want an error")
		}
		if p.failures != 1 || p.health().Err.Error() != "the reason" {
			t.Errorf("got %d failures, the last is %v; want only the first", p.failures, p.health().Err)
		}
		time.Sleep(2 * partPing)
		if err := p.ready(t.Context(), true); err == nil || p.failures != 2 {
			t.Errorf("a ping without an answer: %d failures, %v; want 2", p.failures, err)
		}
	})
}

// readStore returns the error of the test from calls that read.
type readStore struct {
	Store
	read func(ctx context.Context) error
}

func (s readStore) Ping(context.Context) error { return nil }

func (s readStore) Crons(ctx context.Context) ([]CronInfo, error) { return nil, s.read(ctx) }

func (s readStore) Stats(ctx context.Context, _ StatsFilter) ([]Stat, error) { return nil, s.read(ctx) }

func (s readStore) Limits(ctx context.Context, _ string, _ ...string) ([]LimitUse, error) {
	return nil, s.read(ctx)
}

// TestCallThatItsCallerEnds: if the caller ends a call, or its time runs out, the caller gets an error, and not the results of the other stores as
// if they were all. This does not count as a failure of the slower store; an error that the store returns does.
func TestCallThatItsCallerEnds(t *testing.T) {
	reads := map[string]func(j *Joined, ctx context.Context) error{
		"Crons":  func(j *Joined, ctx context.Context) error { _, err := j.Crons(ctx); return err },
		"Stats":  func(j *Joined, ctx context.Context) error { _, err := j.Stats(ctx, StatsFilter{}); return err },
		"Limits": func(j *Joined, ctx context.Context) error { _, err := j.Limits(ctx, "q"); return err },
	}
	for name, test := range map[string]struct {
		slow  func(ctx context.Context) error
		after time.Duration // until the caller ends the call
		want  error
		logs  int64
	}{
		"ended by the caller": {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, time.Second, context.Canceled, 0},
		"out of time":         {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, time.Hour, context.DeadlineExceeded, 0},
		"refused":             {func(context.Context) error { return errors.New("no such table") }, time.Hour, nil, 1},
	} {
		for of, read := range reads {
			synctest.Test(t, func(t *testing.T) {
				j := Join(readStore{read: func(context.Context) error { return nil }}, readStore{read: test.slow})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				time.AfterFunc(test.after, cancel)
				if err := read(j, ctx); !errors.Is(err, test.want) {
					t.Errorf("%s, %s: %v, want %v", of, name, err, test.want)
				}
				if got := j.parts[1].refused.Load(); got != test.logs {
					t.Errorf("%s, %s: %d failures, want %d", of, name, got, test.logs)
				}
			})
		}
	}
}

// TestTrimKeepsWhatIsToBeCaughtUpOn: if there are too many sessions, those that were idle longest are forgotten.
func TestTrimKeepsWhatIsToBeCaughtUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions joinedSessions
		for i := range mostSessions {
			of := sessions.find(Session(i), 2, true)
			switch i {
			case 0:
				of.at[1].unanswered = 7
			case 1:
				of.giveUp(&part{index: 1}, NewID())
			case 2:
				of.at[0].claiming = 1
			case 3:
				of.keepUncounted([]Stat{{}})
			}
			time.Sleep(time.Millisecond)
		}
		sessions.find(mostSessions, 2, true)
		for _, session := range []Session{0, 1, 2, 3, mostSessions / 2, mostSessions - 1, mostSessions} {
			if sessions.of[session] == nil {
				t.Errorf("session %d is forgotten", session)
			}
		}
		if sessions.of[4] != nil || len(sessions.of) > mostSessions*7/8 {
			t.Errorf("session 4 is kept, or too many are: %d", len(sessions.of))
		}
		time.Sleep(SessionKept + time.Second)
		sessions.trim()
		if n := len(sessions.of); n != 0 {
			t.Errorf("%d sessions are kept, although the stores have forgotten them", n)
		}
	})
}

// TestRenewalAsksEachStoreForItsJobs: a renewal asks each store for the jobs that may be there, and forgets the locations of jobs that are lost or
// given up.
func TestRenewalAsksEachStoreForItsJobs(t *testing.T) {
	first, second, lost, again, dropped, unknown := NewID(), NewID(), NewID(), NewID(), NewID(), NewID()
	asked := make([]Renewal, 2)
	var j *Joined
	var stores []Store
	for i := range asked {
		stores = append(stores, stubStore{renew: func(r Renewal) (got Renewed, err error) {
			asked[i] = r
			for _, id := range r.Jobs {
				if id == lost || id == again || id == unknown {
					got.Lost = append(got.Lost, id)
				}
			}
			if i == 1 { // it is claimed again in the meantime
				j.located.note([]*Job{{ID: again, Attempt: 2}}, location{part: j.parts[1], session: 1})
			}
			return got, nil
		}})
	}
	j = Join(stores...)
	at := func(i int, ids ...ID) {
		for _, id := range ids {
			j.located.note([]*Job{{ID: id, Attempt: 1}}, location{part: j.parts[i], session: 1})
		}
	}
	at(0, first, dropped)
	at(1, second, lost, again)
	got, err := j.Renew(t.Context(), Renewal{
		Worker: "w", Session: 1, Lease: time.Minute, Jobs: []ID{first, second, lost, again, unknown}, Drop: []ID{dropped}, Trees: []Tree{{Job: first}, {Job: second}, {Job: unknown}},
	})
	if err != nil || !slices.Equal(got.Lost, []ID{lost, again, unknown}) {
		t.Errorf("lost %v, %v; want %v", got.Lost, err, []ID{lost, again, unknown})
	}
	for i, want := range [][]ID{{first, unknown}, {second, lost, again, unknown}} {
		if !slices.Equal(asked[i].Jobs, want) {
			t.Errorf("store %d was asked for %v, want %v", i+1, asked[i].Jobs, want)
		}
	}
	for i, want := range [][]ID{{first, unknown}, {second, unknown}} {
		if trees := treeIDs(asked[i].Trees); !slices.Equal(trees, want) {
			t.Errorf("store %d was given the trees of %v, want %v", i+1, trees, want)
		}
	}
	for id, want := range map[ID]*part{first: j.parts[0], second: j.parts[1], again: j.parts[1], lost: nil, dropped: nil} {
		if got := j.located.find(id); got != want {
			t.Errorf("job %v is located at %v, want %v", id, got, want)
		}
	}
}

// TestLocationsAreBounded: some locations are forgotten if there are too many.
func TestLocationsAreBounded(t *testing.T) {
	l := locations{of: map[ID]location{}}
	for range 800 {
		l.of[NewID()] = location{}
	}
	l.evict(200, 1000)
	if n := len(l.of); n != 800 {
		t.Errorf("%d are left, want all 800: there was space", n)
	}
	l.evict(201, 1000)
	if n := len(l.of); n+201 > 1000 || n < 600 {
		t.Errorf("of 800 places %d are left, want about 674", n)
	}
}
