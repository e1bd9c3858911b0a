package faktory

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// insert enqueues jobs, and lets fetches that wait here get them before the store reports them. A store that is an InsertClaimer claims for some of
// these fetches in the same transaction: they wait for one commit instead of two.
func (d *dispatcher) insert(ctx context.Context, jobs []*job.Job) ([]job.Enqueued, error) {
	waiting := d.dequeueFor(jobs)
	if len(waiting) == 0 {
		done, err := job.Insert(ctx, d.store, jobs...)
		if err == nil {
			d.notifyInserted(jobs, nil)
		}
		return done, err
	}
	var got job.Fetched
	var failed error // of the fetch
	defer func() { assign(waiting, got.Jobs, failed) }()
	f := waiting[0].fetch
	f.Limit, f.DueOnly = len(waiting), true
	begun := time.Now()
	done, got, err := d.claimer.InsertAndFetch(ctx, f, jobs...)
	if done == nil {
		d.clients.claimFailed(waiting[0].client, begun)
		return nil, err // the waiting fetches do not get this error
	}
	failed = err
	d.notifyInserted(jobs, got.Jobs)
	return done, nil
}

// dequeueFor removes from a group the fetches for which jobs will be claimed when they are inserted: those of one client, since a claim has one
// session.
func (d *dispatcher) dequeueFor(jobs []*job.Job) (removed []*waiter) {
	if _, able := d.store.(job.InsertClaimer); !able {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.groups) == 0 {
		return nil
	}
	due := dueIn(jobs)
	for _, g := range d.groups {
		if n := min(g.due(due), mostTogether); n > 0 && len(g.waiting) > 0 {
			return g.dequeue(n)
		}
	}
	return nil
}

// dequeue removes up to n fetches from the group, those of the client whose fetch has waited longest. The mutex of the dispatcher is held.
func (g *fetchGroup) dequeue(n int) (removed []*waiter) {
	rest, cl := g.waiting[:0], g.waiting[0].client
	for _, w := range g.waiting {
		if w.client != cl || len(removed) == n {
			rest = append(rest, w)
			continue
		}
		w.removed = true
		close(w.mayClaim)
		removed = append(removed, w)
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	return removed
}

// assign gives each waiter a job, as long as there are any, or the error. A waiter that gets neither continues to wait.
func assign(waiting []*waiter, jobs []*job.Job, err error) {
	for i, w := range waiting {
		result := claimResult{err: err}
		if i < len(jobs) {
			result = claimResult{job: jobs[i]}
		}
		w.assigned <- result
	}
}

// dueIn counts the jobs that are due by queue.
func dueIn(jobs []*job.Job) map[string]int {
	now, due := time.Now(), map[string]int{}
	for _, j := range jobs {
		if !j.RunAt.After(now) {
			due[j.Queue]++
		}
	}
	return due
}

// due returns how many of the due jobs, counted by queue, are in the queues of the group.
func (g *fetchGroup) due(queues map[string]int) (n int) {
	for _, q := range g.queues {
		n += queues[q]
	}
	return n
}

// notifyInserted makes fetches claim the jobs that this server has enqueued, except those that were assigned to waiters.
func (d *dispatcher) notifyInserted(jobs, assigned []*job.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.groups) == 0 {
		return
	}
	due := dueIn(jobs)
	for _, j := range assigned {
		due[j.Queue]--
	}
	for _, g := range d.groups {
		if n := g.due(due); n > 0 {
			g.notify()
			g.wake(n - 1)
		}
	}
}
