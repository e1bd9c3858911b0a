package jobtest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A fixture has what a test of the contract needs: a store of its own. Its methods end the test when a call fails.
type fixture struct {
	*testing.T
	job.Store
	ctx    context.Context
	closed bool           // the test closed the store
	ahead  *time.Duration // how far the clock of the store is ahead of the test's; nil until it is needed
}

const (
	long  = 10 * time.Minute      // a lease that does not run out during a test
	short = 50 * time.Millisecond // a lease that expires during a test
	slack = time.Minute           // allowed difference between the clocks of the test and the store
	pause = 5 * time.Millisecond  // between two checks of a condition that should soon hold
)

// sessionOf returns the only session of a worker of the tests.
func sessionOf(worker string) job.Session {
	n := job.Session(1)
	for _, c := range []byte(worker) {
		n = n*257 + job.Session(c)
	}
	return n & (1<<62 - 1)
}

// job makes a job of kind "k".
func (f *fixture) job(opts ...job.EnqueueOption) *job.Job {
	f.Helper()
	return f.kind("k", opts...)
}

func (f *fixture) kind(kind string, opts ...job.EnqueueOption) *job.Job {
	f.Helper()
	j, err := job.New(kind, json.RawMessage(`{"n":1}`), opts...)
	if err != nil {
		f.Fatalf("new job: %v", err)
	}
	return j
}

// insert stores jobs, none of which is a duplicate.
func (f *fixture) insert(jobs ...*job.Job) {
	f.Helper()
	ids := f.tryInsert(jobs...)
	for i, j := range jobs {
		if ids[i] != j.ID {
			f.Fatalf("insert: job %d is %v, want its own ID %v", i, ids[i], j.ID)
		}
	}
}

// tryInsert stores jobs, some of which may be duplicates.
func (f *fixture) tryInsert(jobs ...*job.Job) []job.ID {
	f.Helper()
	ids, err := f.Insert(f.ctx, jobs...)
	if err != nil {
		f.Fatalf("insert: %v", err)
	}
	if len(ids) != len(jobs) {
		f.Fatalf("insert of %d jobs returned %d IDs", len(jobs), len(ids))
	}
	return ids
}

// insertNew makes and stores a job.
func (f *fixture) insertNew(opts ...job.EnqueueOption) *job.Job {
	f.Helper()
	j := f.job(opts...)
	f.insert(j)
	return j
}

// claim claims at most n jobs of the default queue with a long lease.
func (f *fixture) claim(worker string, n int) []*job.Job {
	f.Helper()
	return f.claimBy(job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(n, job.DefaultQueue), Limit: n, Lease: long}).Jobs
}

// take claims exactly n jobs of the default queue.
func (f *fixture) take(worker string, n int) []*job.Job {
	f.Helper()
	jobs := f.claim(worker, n)
	if len(jobs) != n {
		f.Fatalf("claimed %d jobs, want %d", len(jobs), n)
	}
	return jobs
}

// claimOne claims the only due job of the default queue.
func (f *fixture) claimOne(worker string) *job.Job {
	f.Helper()
	jobs := f.claim(worker, 10)
	if len(jobs) != 1 {
		f.Fatalf("claimed %d jobs, want 1", len(jobs))
	}
	return jobs[0]
}

func (f *fixture) claimBy(c job.Claim) job.Claimed {
	f.Helper()
	claimed, err := f.Claim(f.ctx, c)
	if err != nil {
		f.Fatalf("claim: %v", err)
	}
	return claimed
}

// claimExpired claims for worker until it gets a job whose lease has expired.
func (f *fixture) claimExpired(worker string) *job.Job {
	f.Helper()
	var taken *job.Job
	f.eventually("a claim of the expired job", func() bool {
		claimed := f.claimBy(job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Expired: true})
		if len(claimed.Jobs) == 0 {
			return false
		}
		taken = claimed.Jobs[0]
		return true
	})
	return taken
}

// queues returns the queues of a claim, each with the same limit.
func queues(limit int, names ...string) []job.QueueLimit {
	var limits []job.QueueLimit
	for _, name := range names {
		limits = append(limits, job.QueueLimit{Queue: name, Limit: limit})
	}
	return limits
}

// settle writes the outcomes of jobs that the worker holds.
func (f *fixture) settle(worker string, jobs ...*job.Job) {
	f.Helper()
	f.settleLosing(worker, nil, jobs...)
}

// settleLosing writes the outcomes of jobs, and tests that the worker no longer holds those in want.
func (f *fixture) settleLosing(worker string, want []job.ID, jobs ...*job.Job) {
	f.Helper()
	lost, err := f.Settle(f.ctx, sessionOf(worker), job.Outcomes(jobs...)...)
	if err != nil {
		f.Fatalf("settle: %v", err)
	}
	f.sameIDs("lost by settling", lost, want)
}

// finish settles a job in a final state.
func (f *fixture) finish(j *job.Job, state job.State) {
	f.Helper()
	j.State = state
	f.settle(j.Worker, j)
}

// insertFinished makes a job and brings it to a final state.
func (f *fixture) insertFinished(state job.State, opts ...job.EnqueueOption) *job.Job {
	f.Helper()
	j := f.insertNew(opts...)
	switch state {
	case job.Canceled:
		f.apply(job.ActionCancel, j.ID)
	case job.Discarded:
		f.apply(job.ActionDiscard, j.ID)
	default:
		claimed := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, j.Queue), Limit: 1, Lease: long}).Jobs
		f.sameIDs("claimed", ids(claimed), []job.ID{j.ID})
		f.finish(claimed[0], state)
	}
	return f.read(j.ID)
}

// renew renews leases, with the info of a worker of two queues.
func (f *fixture) renew(worker string, lease time.Duration, ids ...job.ID) job.Renewed {
	f.Helper()
	renewed, err := f.Renew(f.ctx, job.Renewal{Worker: worker, Session: sessionOf(worker), Lease: lease, Jobs: ids, Info: workerInfo})
	if err != nil {
		f.Fatalf("renew: %v", err)
	}
	return renewed
}

var workerInfo = job.WorkerInfo{
	Host: "host", PID: 42, Version: "v1.2.3", Started: time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC),
	Queues: []string{"default", "mail"}, Kinds: []string{"k", "mail.send"}, Concurrency: 100, Running: 3, Memory: 1 << 33, Stopping: true,
	Quiet: true, Crons: []string{"nightly", "sweep"},
	Waits: []job.KindWaits{{Kind: "mail.send", Time: time.Minute, Waits: []job.WaitTime{{Wait: "network read, mail.go:12", Time: time.Second}}}},
}

// remove deletes jobs.
func (f *fixture) remove(ids ...job.ID) {
	f.Helper()
	f.apply(job.ActionDelete, ids...)
}

// list returns all jobs that match, newest first.
func (f *fixture) list(filter job.Filter) []*job.Job {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 1000
	}
	jobs, err := f.List(f.ctx, filter)
	if err != nil {
		f.Fatalf("list: %v", err)
	}
	if len(jobs) > filter.Limit {
		f.Fatalf("list of at most %d returned %d jobs", filter.Limit, len(jobs))
	}
	return jobs
}

// all returns all jobs, newest first, in pages of at most n.
func (f *fixture) all(n int) []*job.Job {
	f.Helper()
	var all []*job.Job
	filter := job.Filter{Limit: n}
	for page := f.list(filter); len(page) > 0; page = f.list(filter) {
		if len(all) > 0 && compare(page[0].ID, filter.Before) >= 0 {
			f.Fatalf("the page before %v starts with %v", filter.Before, page[0].ID)
		}
		all = append(all, page...)
		filter.Before = page[len(page)-1].ID
	}
	return all
}

// read returns a job as it is stored.
func (f *fixture) read(id job.ID) *job.Job {
	f.Helper()
	jobs := f.list(job.Filter{IDs: []job.ID{id}})
	if len(jobs) != 1 || jobs[0].ID != id {
		f.Fatalf("list of %v returned %d jobs", id, len(jobs))
	}
	return jobs[0]
}

// exists reports whether there is such a job.
func (f *fixture) exists(id job.ID) bool {
	f.Helper()
	return len(f.list(job.Filter{IDs: []job.ID{id}})) > 0
}

// state tests the state of a stored job.
func (f *fixture) state(id job.ID, want job.State) {
	f.Helper()
	if got := f.read(id).State; got != want {
		f.Errorf("job %v is %s, want %s", id, got, want)
	}
}

// due tests that exactly these jobs are claimed, in this order. They stay claimed.
func (f *fixture) due(want ...*job.Job) {
	f.Helper()
	f.sameIDs("due", ids(f.claim("due", len(want)+1)), ids(want))
}

// sameIDs compares IDs in order.
func (f *fixture) sameIDs(what string, got, want []job.ID) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// sameTime compares times. The store may have dropped fractions of a millisecond.
func (f *fixture) sameTime(what string, got, want time.Time) {
	f.Helper()
	if d := got.Sub(want).Abs(); d > time.Millisecond {
		f.Errorf("%s is %v, want %v", what, got, want)
	}
}

// now returns about the time of the store's clock, or of the test's clock if the store does not report its time.
func (f *fixture) now() time.Time {
	f.Helper()
	if f.ahead == nil {
		f.ahead = new(time.Duration)
		if got, err := f.Renew(f.ctx, job.Renewal{Worker: "clock", Session: sessionOf("clock"), Lease: long, Info: workerInfo}); err == nil && !got.Now.IsZero() {
			*f.ahead = time.Until(got.Now)
		}
		if err := f.Leave(f.ctx, "clock", sessionOf("clock")); err != nil {
			f.Fatalf("Leave: %v", err)
		}
	}
	return time.Now().Add(*f.ahead)
}

// near compares two times of the store's clock, with some tolerance.
func (f *fixture) near(what string, got, want time.Time) {
	f.Helper()
	if d := got.Sub(want).Abs(); d > slack {
		f.Errorf("%s is %v, want about %v", what, got, want)
	}
}

// eventually waits until ok returns true.
func (f *fixture) eventually(what string, ok func() bool) {
	f.Helper()
	for !ok() {
		select {
		case <-f.ctx.Done():
			f.Fatalf("waited too long for %s", what)
		case <-time.After(pause):
		}
	}
}

func ids(jobs []*job.Job) []job.ID {
	var ids []job.ID
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func compare(a, b job.ID) int { return slices.Compare(a[:], b[:]) }

func sorted(ids []job.ID) []job.ID { return slices.SortedFunc(slices.Values(ids), compare) }

// checkCounts compares the counts with the listed jobs.
func (f *fixture) checkCounts() {
	f.Helper()
	type key struct {
		queue, kind string
		state       job.State
	}
	want := map[key]int64{}
	queued, running := map[string]int64{}, map[string]int64{}
	for _, j := range f.all(500) {
		want[key{j.Queue, j.Kind, j.State}]++
		switch j.State {
		case job.Queued:
			queued[j.Queue]++
		case job.Running:
			running[j.Queue]++
		}
	}
	counts, err := f.Counts(f.ctx)
	if err != nil {
		f.Fatalf("counts: %v", err)
	}
	for _, c := range counts {
		k := key{c.Queue, c.Kind, c.State}
		if c.N == 0 || c.N != want[k] {
			f.Errorf("count of %s %s in %s is %d, want %d", c.State, c.Kind, c.Queue, c.N, want[k])
		}
		delete(want, k)
	}
	for k, n := range want {
		f.Errorf("no count of %s %s in %s, want %d", k.state, k.kind, k.queue, n)
	}
	infos, err := f.Queues(f.ctx)
	if err != nil {
		f.Fatalf("queues: %v", err)
	}
	for _, q := range infos {
		if q.Queued != queued[q.Name] || q.Running != running[q.Name] {
			f.Errorf("queue %s has %d queued and %d running jobs, want %d and %d", q.Name, q.Queued, q.Running, queued[q.Name], running[q.Name])
		}
	}
}
