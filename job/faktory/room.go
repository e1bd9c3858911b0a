package faktory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	lease     = time.Minute // of a live client
	eachPoll  = time.Second // how often queues that seem to be empty are polled
	waitPause = time.Second // after an error of the store
	queueKept = time.Minute // how long a queue is waited for after the last fetch from it
	mostKept  = 10_000      // queues; if there are more, they are kept only as long as fetches take
)

// A room is where fetches wait for jobs. However many there are, one call waits on the store for all of them, and of the fetches from the same
// queues one at a time claims as long as there is no job.
//
//	fetch ── claims ──> a job: two more are woken
//	              └──> none: the line is dry; it waits in it until a notice, the time of the next job, or the poll wakes the first
type room struct {
	store   job.Store
	claimer *job.Claimer
	clients *clients

	mu    sync.Mutex
	lines map[string]*line // by queues
	// queues are those that are waited for, with the time of the last fetch from each. Programs that are between two fetches do not change them: a wait for
	// other queues returns immediately, and all lines ask the store.
	queues map[string]time.Time
	again  func() // ends the wait on the store, to wait for more queues
}

// A supply is what is known of the jobs of a line.
type supply int

const (
	unknown supply = iota // the next fetch claims, for all
	dry                   // there was no job, or one fetch is claiming: the others wait
	plenty                // the last claim got all it asked for: all fetches claim
)

// A line has the fetches from the same queues.
type line struct {
	key     string
	queues  []string
	users   int // fetches
	waiting []*waiter
	state   supply
	notices int       // how often jobs may have become due
	swept   time.Time // when expired leases were last claimed
	next    *time.Timer
}

// A waiter is a fetch that waits in a line.
type waiter struct {
	wanted
	client *client
	turn   chan struct{} // closed when it may claim
	handed chan given    // of capacity 1: what was claimed for it, see room.insert
	taken  bool          // something is about to be handed to it
}

func newRoom(store job.Store, claimer *job.Claimer, cs *clients) *room {
	return &room{store: store, claimer: claimer, clients: cs, lines: map[string]*line{}, queues: map[string]time.Time{}}
}

// fetch claims a job for a client, and waits at most for d until there is one. It returns none when that is over or ctx is canceled.
func (r *room) fetch(ctx, work context.Context, cl *client, f job.Fetch, d time.Duration) (*job.Job, error) {
	l := r.enter(f.Queues)
	defer r.exit(l)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		w, turn := r.await(ctx, l, cl, f)
		var got given
		var err error
		switch {
		case turn:
			got.job, err = r.claim(work, l, cl, f)
		case w != nil:
			got = <-w.handed
			err = got.err
		default:
			return nil, nil
		}
		if got.job != nil || err != nil {
			return got.job, err
		}
	}
}

func (r *room) enter(queues []string) *line {
	key := strings.Join(queues, " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines[key]
	if l == nil {
		l = &line{key: key, queues: slices.Clone(queues)}
		r.lines[key] = l
	}
	l.users++
	more, now := false, time.Now()
	for _, q := range queues {
		if _, waited := r.queues[q]; !waited {
			q, more = strings.Clone(q), true // q is a part of the command, which may be long
		}
		r.queues[q] = now
	}
	if more && r.again != nil {
		r.again()
	}
	return l
}

func (r *room) exit(l *line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(r.lines, l.key)
		if l.next != nil {
			l.next.Stop()
		}
	}
}

// await returns true when it is the turn of a fetch to claim; a waiter and false when the waiter is about to receive what was claimed for it; or
// neither when ctx ends.
func (r *room) await(ctx context.Context, l *line, cl *client, f job.Fetch) (w *waiter, turn bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	r.mu.Lock()
	if l.state != dry {
		if l.state == unknown {
			l.state = dry // it claims for the others, too
		}
		r.mu.Unlock()
		return nil, true
	}
	w = &waiter{wanted: wanted{l, f}, client: cl, turn: make(chan struct{}), handed: make(chan given, 1)}
	l.waiting = append(l.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.turn:
		return w, !w.taken
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.taken {
		return w, false
	}
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.ask() // it was its turn, which goes to the next
	}
	return nil, false
}

// wake gives the turn to the n fetches that have waited longest. r.mu is held.
func (l *line) wake(n int) {
	for range min(n, len(l.waiting)) {
		close(l.waiting[0].turn)
		l.waiting = l.waiting[1:]
	}
}

// ask makes one fetch claim: the one that has waited longest, or the next that comes. r.mu is held.
func (l *line) ask() {
	if len(l.waiting) == 0 && l.state == dry {
		l.state = unknown
	}
	l.wake(1)
}

// notice makes the line ask the store again. r.mu is held.
func (l *line) notice() {
	l.notices++
	l.ask()
}

// claim asks the store once, together with other connections of the client that ask at the same time.
func (r *room) claim(ctx context.Context, l *line, cl *client, f job.Fetch) (*job.Job, error) {
	got, err := cl.claims.Do(ctx, wanted{l, f})
	if err != nil {
		return nil, err
	}
	return got.job, got.err
}

// wanted is what one fetch asks for.
type wanted struct {
	line  *line
	fetch job.Fetch
}

// A given is the answer to it: a job, or none.
type given struct {
	job *job.Job
	err error
}

// claimAll claims for several fetches of one client, once for those that stand in one line.
func (r *room) claimAll(ctx context.Context, all []wanted) ([]given, error) {
	got := make([]given, len(all))
	for from, n := 0, 0; from < len(all); from += n {
		l := all[from].line
		for n = 1; from+n < len(all) && all[from+n].line == l; n++ {
		}
		jobs, err := r.claimSome(ctx, l, all[from].fetch, n)
		for i := range n {
			if got[from+i].err = err; i < len(jobs) {
				got[from+i].job = jobs[i]
			}
		}
	}
	return got, nil
}

// claimSome claims up to n jobs, and updates the state of the line.
func (r *room) claimSome(ctx context.Context, l *line, f job.Fetch, n int) ([]*job.Job, error) {
	now := time.Now()
	r.mu.Lock()
	notices := l.notices
	if f.DueOnly = now.Sub(l.swept) < eachPoll; !f.DueOnly {
		l.swept = now
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	f.Limit = n
	got, err := r.claimer.Fetch(ctx, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		l.state = dry // until the poll
		return nil, err
	case len(got.Jobs) == n:
		l.state = plenty
		l.wake(2 * n)
	case l.notices != notices:
		l.state = unknown
	default:
		l.state = dry
		if got.Next > 0 && got.Next < eachPoll {
			l.after(r, got.Next)
		}
	}
	return got.Jobs, nil
}

// after makes the line ask the store when its next job becomes due. r.mu is held.
func (l *line) after(r *room, d time.Duration) {
	if l.next != nil {
		l.next.Stop()
	}
	l.next = time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.notice()
	})
}

// run waits on the store for all fetches, and polls.
func (r *room) run(ctx context.Context) error {
	meanwhile.Go(ctx, r.poll, meanwhile.Name("poll"))
	for ctx.Err() == nil {
		due, err := r.wait(ctx)
		switch {
		case errors.Is(err, job.ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			_ = meanwhile.Sleep(ctx, waitPause) // the fetches report it
			r.noticeAll()
		}
		r.notice(due)
	}
	return context.Cause(ctx)
}

// wait returns the queues in which a job may be due, and none when there are more queues to wait for: the next wait gets what has happened in between.
func (r *room) wait(ctx context.Context) (due []string, err error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	r.again = cancel
	queues := r.waited()
	r.mu.Unlock()
	if len(queues) == 0 {
		<-wait.Done()
		return nil, nil
	}
	if named, able := r.store.(job.QueueWaiter); able {
		due, err = named.WaitQueues(wait, queues...)
	} else {
		due, err = queues, r.store.Wait(wait, queues...)
	}
	switch {
	case err == nil:
		return due, nil
	case wait.Err() != nil:
		return nil, nil
	}
	return nil, err
}

// notice makes fetches from some queues ask the store again.
func (r *room) notice(queues []string) {
	if len(queues) == 0 {
		return
	}
	due := make(map[string]bool, len(queues))
	for _, q := range queues {
		due[q] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if slices.ContainsFunc(l.queues, func(q string) bool { return due[q] }) {
			l.notice()
		}
	}
}

// noticeAll makes all fetches ask the store again.
func (r *room) noticeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		l.notice()
	}
}

func (r *room) poll(ctx context.Context) error {
	ticker := time.NewTicker(eachPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.noticeAll()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waited returns the queues to wait for, and forgets those that nobody fetches from any more. r.mu is held.
func (r *room) waited() []string {
	kept := queueKept
	if len(r.queues) > mostKept {
		kept = 2 * fetchTime
	}
	maps.DeleteFunc(r.queues, func(_ string, last time.Time) bool { return time.Since(last) >= kept })
	return slices.Sorted(maps.Keys(r.queues))
}
