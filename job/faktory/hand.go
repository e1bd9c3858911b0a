package faktory

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// insert enqueues jobs, and lets fetches that wait here get them before the store reports them. A store that is an InsertClaimer claims for some of
// these fetches in the same transaction: they wait for one commit instead of two.
func (r *room) insert(ctx context.Context, jobs []*job.Job) ([]job.Enqueued, error) {
	waiting := r.takeWaiting(jobs)
	if len(waiting) == 0 {
		done, err := job.Insert(ctx, r.store, jobs...)
		if err == nil {
			r.pushed(jobs, nil)
		}
		return done, err
	}
	var got job.Fetched
	var failed error // of the fetch
	defer func() { hand(waiting, got.Jobs, failed) }()
	f := waiting[0].fetch
	f.Limit, f.DueOnly = len(waiting), true
	begun := time.Now()
	done, got, err := r.claimer.InsertAndFetch(ctx, f, jobs...)
	if done == nil {
		r.clients.unanswered(waiting[0].client, begun)
		return nil, err // the waiting fetches do not get this error
	}
	failed = err
	r.pushed(jobs, got.Jobs)
	return done, nil
}

// takeWaiting removes from a line the fetches for which jobs will be claimed when they are inserted: those of one client, since a claim has one
// session.
func (r *room) takeWaiting(jobs []*job.Job) (taken []*waiter) {
	if _, able := r.store.(job.InsertClaimer); !able {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == 0 {
		return nil
	}
	due := dueIn(jobs)
	for _, l := range r.lines {
		if n := min(l.due(due), mostTogether); n > 0 && len(l.waiting) > 0 {
			return l.dequeue(n)
		}
	}
	return nil
}

// dequeue removes up to n fetches from the line, those of the client whose fetch has waited longest. The room's mu is held.
func (l *line) dequeue(n int) (taken []*waiter) {
	rest, cl := l.waiting[:0], l.waiting[0].client
	for _, w := range l.waiting {
		if w.client != cl || len(taken) == n {
			rest = append(rest, w)
			continue
		}
		w.taken = true
		close(w.turn)
		taken = append(taken, w)
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	return taken
}

// hand gives each waiter a job, as long as there are any, or the error. A waiter that gets neither continues to wait.
func hand(waiting []*waiter, jobs []*job.Job, err error) {
	for i, w := range waiting {
		g := given{err: err}
		if i < len(jobs) {
			g = given{job: jobs[i]}
		}
		w.handed <- g
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

// due returns how many of the due jobs, counted by queue, are in the queues of the line.
func (l *line) due(queues map[string]int) (n int) {
	for _, q := range l.queues {
		n += queues[q]
	}
	return n
}

// pushed makes fetches claim the jobs that this server has enqueued, except those that were handed to waiters.
func (r *room) pushed(jobs, handed []*job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == 0 {
		return
	}
	due := dueIn(jobs)
	for _, j := range handed {
		due[j.Queue]--
	}
	for _, l := range r.lines {
		if n := l.due(due); n > 0 {
			l.notice()
			l.wake(n - 1)
		}
	}
}
