//go:build unix

package main

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A history is what the ledgers say about one job.
type history struct {
	kind     string
	key      string // unique
	keyFor   time.Duration
	intended int64 // when it was about to be enqueued; zero for a job of the cron or one that follows another
	acked    int64 // when the store had acknowledged it; zero if it never did
	tick     int64
	queue    string // if it has limits
	lane     string // the limit key there
	cost     int
	created  int64         // if the operator has acted on it
	dealt    map[int]int64 // when the operator was about to act, by the attempt after which the job was discarded
	removed  bool          // perhaps: the operator was about to delete it
	attempts []attempt
}

// An attempt is what the ledgers say about one attempt of a job. It belongs to one worker, since the next worker's attempt has another number.
type attempt struct {
	number  int
	worker  string
	started int64
	ended   int64  // zero if no end was recorded
	failure string // the error with which it ended
	outcome string // that the store has accepted
	settled int64  // when the worker recorded that
	claimed int64  // by the clock of the store
	crashed int    // leases of the job that had expired before
	lost    bool   // the store has refused the outcome
}

// at returns the attempt with a number, and adds it if there is none.
func (h *history) at(number int) *attempt {
	for i := range h.attempts {
		if h.attempts[i].number == number {
			return &h.attempts[i]
		}
	}
	h.attempts = append(h.attempts, attempt{number: number})
	return &h.attempts[len(h.attempts)-1]
}

// starts counts the attempts that have started.
func (h *history) starts() int {
	n := 0
	for i := range h.attempts {
		if h.attempts[i].started > 0 {
			n++
		}
	}
	return n
}

// A batch is the jobs of one call of Enqueue.
type batch struct {
	jobs  []intended
	acked bool
}

// A tale is what all ledgers together say.
type tale struct {
	jobs    map[job.ID]*history
	batches map[string]*batch
	holders map[job.ID]bool // jobs that Enqueue returned as holders of a key
	lines   int
	wrong   func(format string, args ...any) // called for entries that must not occur
}

func newTale(wrong func(format string, args ...any)) *tale {
	return &tale{jobs: map[job.ID]*history{}, batches: map[string]*batch{}, holders: map[job.ID]bool{}, wrong: wrong}
}

func (t *tale) of(id job.ID) *history {
	h := t.jobs[id]
	if h == nil {
		h = new(history)
		t.jobs[id] = h
	}
	return h
}

// add adds a line of a ledger.
func (t *tale) add(process string, e entry) {
	t.lines++
	switch e.What {
	case intends:
		t.batches[e.Batch] = &batch{jobs: e.Jobs}
		for _, j := range e.Jobs {
			h := t.of(j.ID)
			h.kind, h.key, h.keyFor, h.intended = j.Kind, j.Key, j.For, e.Time
		}
	case enqueued:
		t.acknowledged(process, e)
	case starts, ends, settled:
		t.attempted(e)
	case removes, retries:
		h := t.of(e.ID)
		if h.dealt == nil {
			h.dealt = map[int]int64{}
		}
		h.queue, h.lane, h.created, h.dealt[e.Attempt] = e.Queue, e.Lane, e.Created, e.Time
		h.removed = h.removed || e.What == removes
	case repaired:
		t.wrong("key %q of queue %s did not match its jobs, and %s repaired it: %s", e.Lane, e.Queue, process, e.Outcome)
	}
}

func (t *tale) acknowledged(process string, e entry) {
	b := t.batches[e.Batch]
	if b == nil || len(b.jobs) != len(e.IDs) {
		t.wrong("%s: Enqueue answered with %d IDs for batch %s", process, len(e.IDs), e.Batch)
		return
	}
	b.acked = true
	for i, j := range b.jobs {
		switch {
		case e.IDs[i] == j.ID:
			t.of(j.ID).acked = e.Time
		case j.Key == "":
			t.wrong("job %v (%s) has no unique key, and Enqueue answered with that of job %v", j.ID, j.Kind, e.IDs[i])
		default:
			t.holders[e.IDs[i]] = true
		}
	}
}

func (t *tale) attempted(e entry) {
	h := t.of(e.ID)
	h.kind = e.Kind
	if e.Tick != 0 {
		h.tick = e.Tick
	}
	a := h.at(e.Attempt)
	if a.worker != "" && a.worker != e.Worker {
		t.wrong("attempt %d of job %v (%s) was held by two workers: %s and %s", e.Attempt, e.ID, e.Kind, a.worker, e.Worker)
		return
	}
	a.worker = e.Worker
	switch {
	case e.What == starts && a.started > 0:
		t.wrong("attempt %d of job %v (%s) was begun twice, by %s", e.Attempt, e.ID, e.Kind, e.Worker)
	case e.What == starts:
		a.started, a.claimed, a.crashed = e.Time, e.Claimed, e.Died
		if e.Queue != "" {
			h.queue, h.lane, h.cost = e.Queue, e.Lane, e.Cost
		}
	case e.What == ends:
		a.ended, a.failure = e.Time, e.Outcome
	case a.outcome != "" || a.lost:
		t.wrong("attempt %d of job %v (%s) was settled twice by %s: at last as %s", e.Attempt, e.ID, e.Kind, e.Worker, e.Outcome)
	case e.Outcome == job.JobLost.String():
		a.lost = true
	default:
		a.outcome, a.settled = e.Outcome, e.Time
	}
}
