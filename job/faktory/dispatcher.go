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

// A dispatcher claims jobs for fetches, which wait in it until there are any. However many there are, one call waits on the store for all of them, and
// of the fetches from the same queues one at a time claims as long as there is no job.
//
//	fetch ── claims ──> a job: two more are woken
//	              └──> none: it waits in its group until an event, the time of the next job, or the poll wakes the first
type dispatcher struct {
	store   job.Store
	claimer *job.Claimer
	clients *clients

	mu     sync.Mutex
	groups map[string]*fetchGroup // by queues
	// queues are those that are waited for, with the time of the last fetch from each. Programs that are between two fetches do not change them: a wait for
	// other queues returns immediately, and all groups ask the store.
	queues      map[string]time.Time
	names       []string  // of the queues, sorted; nil if there are more by now
	forgotten   time.Time // when queues were forgotten last
	restartWait func()    // ends the wait on the store, to wait for more queues
}

// A backlog is what is known of the due jobs of a group.
type backlog int

const (
	backlogUnknown backlog = iota // the next fetch claims, for all
	backlogEmpty                  // there was no job, or one fetch is claiming: the others wait
	backlogLeft                   // the last claim got all it asked for: all fetches claim
)

// A fetchGroup has the fetches from the same queues.
type fetchGroup struct {
	key            string
	queues         []string
	users          int // fetches
	waiting        []*waiter
	backlog        backlog
	events         int       // how often jobs may have become due
	expiredClaimed time.Time // when expired leases were last claimed
	next           *time.Timer
}

// A waiter is a fetch that waits in its group.
type waiter struct {
	claimRequest
	client   *client
	mayClaim chan struct{}    // closed when it may claim
	assigned chan claimResult // of capacity 1: what was claimed for it, see dispatcher.insert
	removed  bool             // from its group: it is about to be assigned a result
}

func newDispatcher(store job.Store, claimer *job.Claimer, cs *clients) *dispatcher {
	return &dispatcher{store: store, claimer: claimer, clients: cs, groups: map[string]*fetchGroup{}, queues: map[string]time.Time{}}
}

// fetch claims a job for a client, and waits at most for limit until there is one. It returns none when that is over or ctx is canceled.
func (d *dispatcher) fetch(ctx, work context.Context, cl *client, f job.Fetch, limit time.Duration) (*job.Job, error) {
	g := d.enter(f.Queues)
	defer d.exit(g)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		w, mayClaim := d.await(ctx, g, cl, f)
		var got claimResult
		var err error
		switch {
		case mayClaim:
			got.job, err = d.claim(work, g, cl, f)
		case w != nil:
			got = <-w.assigned
			err = got.err
		default:
			return nil, nil
		}
		if got.job != nil || err != nil {
			return got.job, err
		}
	}
}

func (d *dispatcher) enter(queues []string) *fetchGroup {
	key := strings.Join(queues, " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[key]
	if g == nil {
		g = &fetchGroup{key: key, queues: slices.Clone(queues)}
		d.groups[key] = g
	}
	g.users++
	more, now := false, time.Now()
	for _, q := range queues {
		if _, waited := d.queues[q]; !waited {
			q, more = strings.Clone(q), true // q is a part of the command, which may be long
		}
		d.queues[q] = now
	}
	if more {
		d.names = nil
		if d.restartWait != nil {
			d.restartWait()
		}
	}
	return g
}

func (d *dispatcher) exit(g *fetchGroup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(d.groups, g.key)
		if g.next != nil {
			g.next.Stop()
		}
	}
}

// await returns true when a fetch may claim; a waiter and false when the waiter is about to receive what was claimed for it; or
// neither when ctx ends.
func (d *dispatcher) await(ctx context.Context, g *fetchGroup, cl *client, f job.Fetch) (w *waiter, mayClaim bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	d.mu.Lock()
	if g.backlog != backlogEmpty {
		if g.backlog == backlogUnknown {
			g.backlog = backlogEmpty // it claims for the others, too
		}
		d.mu.Unlock()
		return nil, true
	}
	w = &waiter{claimRequest: claimRequest{g, f}, client: cl, mayClaim: make(chan struct{}), assigned: make(chan claimResult, 1)}
	g.waiting = append(g.waiting, w)
	d.mu.Unlock()
	select {
	case <-w.mayClaim:
		return w, !w.removed
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.removed {
		return w, false
	}
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.wakeOne() // it may have claimed, which the next one does
	}
	return nil, false
}

// wake makes the n fetches claim that have waited longest. d.mu is held.
func (g *fetchGroup) wake(n int) {
	for range min(n, len(g.waiting)) {
		close(g.waiting[0].mayClaim)
		g.waiting = g.waiting[1:]
	}
}

// wakeOne makes one fetch claim: the one that has waited longest, or the next that comes. d.mu is held.
func (g *fetchGroup) wakeOne() {
	if len(g.waiting) == 0 && g.backlog == backlogEmpty {
		g.backlog = backlogUnknown
	}
	g.wake(1)
}

// notify makes the group ask the store again. d.mu is held.
func (g *fetchGroup) notify() {
	g.events++
	g.wakeOne()
}

// claim asks the store once, together with other connections of the client that ask at the same time.
func (d *dispatcher) claim(ctx context.Context, g *fetchGroup, cl *client, f job.Fetch) (*job.Job, error) {
	got, err := cl.claims.Do(ctx, claimRequest{g, f})
	if err != nil {
		return nil, err
	}
	return got.job, got.err
}

// A claimRequest is what one fetch asks for.
type claimRequest struct {
	group *fetchGroup
	fetch job.Fetch
}

// A claimResult is the answer to it: a job, or none.
type claimResult struct {
	job *job.Job
	err error
}

// claimAll claims for several fetches of one client, once for those of the same group that follow each other.
func (d *dispatcher) claimAll(ctx context.Context, all []claimRequest) ([]claimResult, error) {
	got := make([]claimResult, len(all))
	for from, n := 0, 0; from < len(all); from += n {
		g := all[from].group
		for n = 1; from+n < len(all) && all[from+n].group == g; n++ {
		}
		jobs, err := d.claimSome(ctx, g, all[from].fetch, n)
		for i := range n {
			if got[from+i].err = err; i < len(jobs) {
				got[from+i].job = jobs[i]
			}
		}
	}
	return got, nil
}

// claimSome claims up to n jobs, and updates the backlog of the group.
func (d *dispatcher) claimSome(ctx context.Context, g *fetchGroup, f job.Fetch, n int) ([]*job.Job, error) {
	now := time.Now()
	d.mu.Lock()
	events := g.events
	if f.DueOnly = now.Sub(g.expiredClaimed) < eachPoll; !f.DueOnly {
		g.expiredClaimed = now
	}
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	f.Limit = n
	got, err := d.claimer.Fetch(ctx, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		g.backlog = backlogEmpty // until the poll
		return nil, err
	case len(got.Jobs) == n:
		g.backlog = backlogLeft
		g.wake(2 * n)
	case g.events != events:
		g.backlog = backlogUnknown
	default:
		g.backlog = backlogEmpty
		if got.Next > 0 && got.Next < eachPoll {
			g.after(d, got.Next)
		}
	}
	return got.Jobs, nil
}

// after makes the group ask the store when its next job becomes due. d.mu is held.
func (g *fetchGroup) after(d *dispatcher, delay time.Duration) {
	if g.next != nil {
		g.next.Stop()
	}
	g.next = time.AfterFunc(delay, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		g.notify()
	})
}

// run waits on the store for all fetches, and polls.
func (d *dispatcher) run(ctx context.Context) error {
	meanwhile.Go(ctx, d.poll, meanwhile.Name("poll"))
	for ctx.Err() == nil {
		due, err := d.wait(ctx)
		switch {
		case errors.Is(err, job.ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			_ = meanwhile.Sleep(ctx, waitPause) // the fetches report it
			d.notifyAll()
		}
		d.notify(due)
	}
	return context.Cause(ctx)
}

// wait returns the queues in which a job may be due, and none when there are more queues to wait for: the next wait gets what has happened in between.
func (d *dispatcher) wait(ctx context.Context) (due []string, err error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	d.mu.Lock()
	d.restartWait = cancel
	queues := d.waited()
	d.mu.Unlock()
	if len(queues) == 0 {
		<-wait.Done()
		return nil, nil
	}
	if due, err = d.store.Wait(wait, queues...); err != nil && wait.Err() != nil {
		return nil, nil
	}
	return due, err
}

// notify makes fetches from some queues ask the store again.
func (d *dispatcher) notify(queues []string) {
	if len(queues) == 0 {
		return
	}
	due := make(map[string]bool, len(queues))
	for _, q := range queues {
		due[q] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		if slices.ContainsFunc(g.queues, func(q string) bool { return due[q] }) {
			g.notify()
		}
	}
}

// notifyAll makes all fetches ask the store again.
func (d *dispatcher) notifyAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		g.notify()
	}
}

func (d *dispatcher) poll(ctx context.Context) error {
	ticker := time.NewTicker(eachPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.notifyAll()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waited returns the queues to wait for. Once a second it forgets those that nobody fetches from any more: there may be thousands of queues, and of waits a
// second. d.mu is held.
func (d *dispatcher) waited() []string {
	now := time.Now()
	if d.names != nil && now.Sub(d.forgotten) < eachPoll {
		return d.names
	}
	kept := queueKept
	if len(d.queues) > mostKept {
		kept = 2 * fetchTime
	}
	maps.DeleteFunc(d.queues, func(_ string, last time.Time) bool { return now.Sub(last) >= kept })
	d.names, d.forgotten = slices.Sorted(maps.Keys(d.queues)), now
	return d.names
}
