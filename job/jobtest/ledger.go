package jobtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

// A ledger records the answers of a store to many concurrent callers, and then checks whether they are consistent.
type ledger struct {
	mu       sync.Mutex
	jobs     map[job.ID]bool // true if stored, false if deleted
	attempts map[attempt]*account
	finals   map[job.ID]bool // finished once, by a settle or an action, or to be canceled when queued again
	ended    int             // settles in a final state
	wrong    []string
}

// An attempt is one claim of a job.
type attempt struct {
	id job.ID
	n  int
}

// An account records what happened to an attempt.
type account struct {
	worker  string
	expired string // the worker whose lease had expired when the job was claimed
	settled job.State
}

func newLedger() *ledger {
	return &ledger{jobs: map[job.ID]bool{}, attempts: map[attempt]*account{}, finals: map[job.ID]bool{}}
}

func (l *ledger) inserted(id job.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.jobs[id]; !twice { // an action may have deleted it before this was noted
		l.jobs[id] = true
	}
}

func (l *ledger) claimed(worker string, c job.Claimed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range c.Jobs {
		a := attempt{j.ID, j.Attempt}
		if before := l.attempts[a]; before != nil {
			l.note(a, "claimed by "+before.worker+" and by "+worker)
		}
		_, expired := c.Expired[j.ID]
		if j.State != job.Running || j.Worker != worker || j.CancelRequested && !expired {
			l.note(a, "claimed by "+worker+" as one that is "+string(j.State)+" by "+j.Worker)
		}
		if !expired && j.Started.Before(j.RunAt) {
			l.note(a, "claimed before it was due")
		}
		l.attempts[a] = &account{worker: worker, expired: c.Expired[j.ID]}
	}
}

func (l *ledger) settled(jobs []*job.Job, lost []job.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range jobs {
		a := attempt{j.ID, j.Attempt}
		account := l.attempts[a]
		if slices.Contains(lost, j.ID) || j.State == job.Running {
			continue
		}
		if account.settled != "" {
			l.note(a, "settled as "+string(account.settled)+" and again as "+string(j.State))
		}
		account.settled = j.State
		if j.State.Finished() {
			l.ended++
			l.finals[j.ID] = true
		}
	}
}

// changed records the effect of an action on a job: its new state, or "" if it was deleted.
func (l *ledger) changed(id job.ID, state job.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case state == "":
		l.jobs[id] = false
	case state.Finished(), state == job.Running:
		l.finals[id] = true
	}
}

func (l *ledger) settledFinally() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *ledger) note(a attempt, what string) {
	if len(l.wrong) < 20 {
		l.wrong = append(l.wrong, fmt.Sprintf("%v in attempt %d: %s", a.id, a.n, what))
	}
}

// check compares the recorded answers with the stored jobs. No caller uses the store any more.
func (l *ledger) check(f *fixture) {
	f.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	claims, crashed := map[job.ID]int{}, map[job.ID]int{}
	for a, account := range l.attempts {
		claims[a.id]++
		if account.expired != "" {
			crashed[a.id]++
		}
		if a.n == 1 {
			continue
		}
		before := l.attempts[attempt{a.id, a.n - 1}]
		switch {
		case before == nil:
			l.note(a, "claimed without the attempt before it")
		case account.expired != "" && account.expired != before.worker:
			l.note(a, "taken from "+account.expired+", but "+before.worker+" held it")
		case account.expired != "" && before.settled != "":
			l.note(a, "taken from "+before.worker+", which settled it as "+string(before.settled))
		case account.expired == "" && before.settled == "":
			l.note(a, "claimed as due, but "+before.worker+" had not settled it")
		}
	}
	stored := map[job.ID]bool{}
	for _, j := range f.all(500) {
		stored[j.ID] = true
		a := attempt{j.ID, j.Attempt}
		switch {
		case !l.jobs[j.ID]:
			l.note(a, "stored, but it was removed, or never inserted")
		case j.Attempt != claims[j.ID] || j.Crashed != crashed[j.ID]:
			l.note(a, "the attempts or deaths are not those of its claims")
		case !j.State.Finished() || !l.finals[j.ID]:
			l.note(a, "is "+string(j.State)+", but was never made so")
		}
	}
	for id, there := range l.jobs {
		if there && !stored[id] {
			l.note(attempt{id, claims[id]}, "lost")
		}
	}
	for _, what := range l.wrong {
		f.Error(what)
	}
}
