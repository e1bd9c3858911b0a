//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const pageSize = 500

// verify compares the ledgers with the store, and counts.
func (o *round) verify(ctx context.Context, store job.Store) error {
	t := newTale(o.violated)
	if err := readLedgers(o.ledgers, t.add); err != nil {
		return err
	}
	v := newVerifier(o, t)
	f := job.Filter{Limit: pageSize}
	for {
		page, err := store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, j := range page {
			v.see(j)
		}
		if len(page) < pageSize {
			break
		}
		f.Before = page[len(page)-1].ID
	}
	counts, err := store.Counts(ctx)
	if err != nil {
		return err
	}
	v.seen(counts)
	return nil
}

// A verifier checks the jobs of the store one after the other, and then what must hold for all of them together.
type verifier struct {
	*round
	tale    *tale
	stored  map[job.ID]bool
	numbers map[job.Count]int64 // with N zero
	ticks   map[int64][]job.ID  // jobs by tick
	chains  map[job.ID]int      // completed jobs that one other job must follow, and how many do
	follows map[job.ID]job.ID   // the job that each job of nextKind follows
	spans   []span              // of jobs with unique keys
	lanes   map[job.ID]*job.Job // those in queues with limits
}

func newVerifier(o *round, t *tale) *verifier {
	return &verifier{round: o, tale: t, stored: map[job.ID]bool{}, numbers: map[job.Count]int64{}, ticks: map[int64][]job.ID{}, chains: map[job.ID]int{}, follows: map[job.ID]job.ID{}, lanes: map[job.ID]*job.Job{}}
}

// seen checks what must hold for all jobs together, after see was called for each of them.
func (v *verifier) seen(counts []job.Count) {
	v.compareCounts(counts)
	v.checkAcknowledged()
	v.checkKeys()
	v.checkTicks()
	v.checkChains()
	v.checkLimits()
	v.add(countLedger, v.tale.lines)
}

// see checks one job of the store against its history.
func (v *verifier) see(j *job.Job) {
	if v.stored[j.ID] {
		v.violated("job %v (%s) is in the store twice", j.ID, j.Kind)
		return
	}
	v.stored[j.ID] = true
	v.numbers[job.Count{Queue: j.Queue, Kind: j.Kind, State: j.State}]++
	if findLimited(j.Queue) != nil {
		v.lanes[j.ID] = j
	}
	h := v.tale.jobs[j.ID]
	if h == nil {
		h = new(history)
	}
	switch {
	case j.Kind == cronKind:
		if !v.seeTick(j, h) {
			return
		}
	case j.Kind == nextKind:
		if !v.seeNext(j) {
			return
		}
	case h.intended == 0:
		v.violated("nobody has enqueued job %v (%s): %s", j.ID, j.Kind, show(j))
		return
	}
	if j.Kind == "chain" && j.State == job.Completed {
		v.chains[j.ID] += 0
	}
	if !j.State.Finished() {
		return // drain has reported it
	}
	v.checkEnd(j, h)
	v.checkAttempts(j, h)
	v.countAttempts(j, h)
	if h.key != "" {
		v.spans = append(v.spans, newSpan(j, h))
	}
}

// checkEnd checks that a finished job has run, and ended as its kind must.
func (v *verifier) checkEnd(j *job.Job, h *history) {
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == j.Kind })]
	diedTooOften := j.State == job.Discarded && j.Crashed > 0 && j.Used() > j.MaxAttempts
	if j.State != k.end && !diedTooOften {
		v.violated("job %v (%s) ended as %s, want %s: %s", j.ID, j.Kind, j.State, k.end, show(j))
	}
	if k.name == "die" && j.Crashed == 0 {
		v.violated("job %v (die) kills its worker, and ended as if none had died: %s", j.ID, show(j))
	}
	if diedTooOften {
		v.count(countDied)
		return
	}
	last := h.at(j.Attempt)
	switch {
	case last.ended == 0:
		v.violated("job %v (%s) ended as %s, and its attempt %d was not seen to end: %s", j.ID, j.Kind, j.State, j.Attempt, show(j))
	case (j.State == job.Completed) != (last.failure == ""):
		v.violated("job %v (%s) ended as %s, and its attempt %d with the error %q", j.ID, j.Kind, j.State, j.Attempt, last.failure)
	}
}

// checkAttempts checks that there are no more attempts than allowed, and that each was settled by the worker that held it, as the store says. All
// claims but the last must have ended by an outcome that queued the job again, or by a lease that expired.
func (v *verifier) checkAttempts(j *job.Job, h *history) {
	if n := h.starts(); n > j.MaxAttempts+j.Uncounted {
		v.violated("job %v (%s) was begun %d times: %s", j.ID, j.Kind, n, show(j))
	}
	queued := 0
	for i := range h.attempts {
		a := &h.attempts[i]
		if a.number > j.Attempt {
			v.violated("job %v (%s) has an attempt %d that the store does not know: %s", j.ID, j.Kind, a.number, show(j))
		}
		switch a.outcome {
		case "":
		case job.JobRetried.String(), job.JobSnoozed.String(), job.JobReleased.String():
			if queued++; a.number >= j.Attempt {
				v.violated("attempt %d of job %v (%s) was settled as %s and there is none after it: %s", a.number, j.ID, j.Kind, a.outcome, show(j))
			}
		default:
			if _, dealt := h.dealt[a.number]; dealt { // the operator has retried the job
				continue
			}
			if a.number != j.Attempt || a.outcome != string(j.State) {
				v.violated("attempt %d of job %v (%s) was settled as %s by %s, which had lost it: %s", a.number, j.ID, j.Kind, a.outcome, a.worker, show(j))
			}
		}
	}
	if most := j.Attempt - 1 - j.Crashed; queued > most {
		v.violated("job %v (%s) was queued again by %d workers that held it, want at most %d: %s", j.ID, j.Kind, queued, most, show(j))
	}
}

func (v *verifier) countAttempts(j *job.Job, h *history) {
	n := h.starts()
	wanted, lost := 0, 0
	for i := range h.attempts {
		a := &h.attempts[i]
		if a.started > 0 && a.ended > 0 && a.failure != "" && !a.lost && a.number < j.Attempt {
			wanted++
		}
		if a.lost {
			lost++
		}
	}
	v.add(countExecutions, n)
	v.add(countRetries, wanted)
	v.add(countDoubles, max(n-1-wanted, 0))
	v.add(countLost, lost)
}

// seeTick records the tick that a job is for. It reports whether the job names a tick.
func (v *verifier) seeTick(j *job.Job, h *history) bool {
	var a args
	if err := json.Unmarshal(j.Args, &a); err != nil || a.Tick == 0 || h.tick != 0 && h.tick != a.Tick {
		v.violated("job %v (tick) has the args %s, and ran with the tick %d", j.ID, j.Args, h.tick)
		return false
	}
	v.ticks[a.Tick] = append(v.ticks[a.Tick], j.ID)
	return true
}

// seeNext records which job this one follows. It reports whether the job names one.
func (v *verifier) seeNext(j *job.Job) bool {
	var a args
	if err := json.Unmarshal(j.Args, &a); err != nil || a.After == (job.ID{}) {
		v.violated("job %v (next) has the args %s", j.ID, j.Args)
		return false
	}
	v.follows[j.ID] = a.After
	return true
}

// checkChains checks that the job that must follow another is there exactly once if the other has completed, and not at all otherwise.
func (v *verifier) checkChains() {
	v.add(countFollowed, len(v.chains))
	for id, after := range v.follows {
		if _, completed := v.chains[after]; !completed {
			v.violated("job %v follows job %v, which has not completed", id, after)
		}
		v.chains[after]++
	}
	for id, n := range v.chains {
		if n != 1 {
			v.violated("job %v (chain) has completed, and %d jobs follow it, want 1", id, n)
		}
	}
}

// checkTicks checks that each tick from the registration of the cron until it was paused has one job, and that there are no jobs for other ticks.
func (v *verifier) checkTicks() {
	v.add(countTicks, len(v.ticks))
	for at := v.ticksFrom; at <= v.ticksTo; at++ {
		if len(v.ticks[at]) == 0 {
			v.violated("the tick at %s has no job", clock(at))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(v.ticks)) {
		if jobs := v.ticks[at]; len(jobs) > 1 {
			v.violated("the tick at %s has %d jobs: %v", clock(at), len(jobs), jobs)
		}
		if at < v.ticksFrom || at > v.ticksTo {
			v.violated("the tick at %s is none: the cron was noted at %s and paused after %s", clock(at), clock(v.ticksFrom-1), clock(v.ticksTo))
		}
	}
}

func clock(tick int64) string { return time.Unix(tick, 0).UTC().Format(time.TimeOnly) }

// checkAcknowledged checks that all acknowledged jobs are in the store, and that of each batch either all jobs are there or none, apart from those
// with unique keys.
func (v *verifier) checkAcknowledged() {
	for id, h := range v.tale.jobs {
		if h.intended > 0 {
			v.count(countIntended)
		}
		if h.acked > 0 {
			v.count(countAcknowledged)
			if !v.stored[id] && !h.removed {
				v.violated("job %v (%s) was acknowledged at %s and is not in the store", id, h.kind, time.Unix(0, h.acked).Format(time.TimeOnly))
			}
		} else if len(h.attempts) > 0 && !v.stored[id] && !h.removed {
			v.violated("job %v (%s) has run and is not in the store", id, h.kind)
		}
	}
	for id := range v.tale.holders {
		if !v.stored[id] && !v.tale.of(id).removed {
			v.violated("job %v was named as the holder of a key and is not in the store", id)
		}
	}
	for name, b := range v.tale.batches {
		there, free := 0, 0
		for _, j := range b.jobs {
			if j.Key != "" {
				continue
			}
			free++
			if v.stored[j.ID] || v.tale.jobs[j.ID].removed {
				there++
			}
		}
		for _, j := range b.jobs {
			if b.acked && j.Key != "" && v.tale.jobs[j.ID].acked == 0 {
				v.count(countDuplicates)
				if v.stored[j.ID] {
					v.violated("job %v (%s) was refused for its key and is in the store", j.ID, j.Kind)
				}
			}
			switch {
			case b.acked:
			case v.stored[j.ID], v.tale.jobs[j.ID].removed:
				v.count(countUnknown)
			default:
				v.count(countFailed)
			}
		}
		if there != 0 && there != free {
			v.violated("of batch %s, %d of %d jobs are in the store: want all or none", name, there, free)
		}
	}
}

// compareCounts checks that the counts of the store match the jobs that it lists.
func (v *verifier) compareCounts(counts []job.Count) {
	for _, c := range counts {
		key := c
		key.N = 0
		if got, want := c.N, v.numbers[key]; got != want {
			v.violated("the store counts %d jobs of kind %s that are %s, and has %d", got, c.Kind, c.State, want)
		}
		delete(v.numbers, key)
	}
	for key, n := range v.numbers {
		v.violated("the store counts no jobs of kind %s that are %s, and has %d", key.Kind, key.State, n)
	}
}

// A span is a time during which a job with a unique key was certainly stored and unfinished. It is as short as the ledgers leave open.
type span struct {
	id       job.ID
	key      string
	from, to int64
	// If the key is held for a period, the job was stored between after and before.
	after, before int64
	uniqueFor     time.Duration
}

func newSpan(j *job.Job, h *history) span {
	s := span{id: j.ID, key: h.key, after: h.intended, before: h.acked, uniqueFor: h.keyFor}
	last := h.at(j.Attempt)
	s.from, s.to = h.acked, last.ended
	if last.started > 0 && (s.from == 0 || last.started < s.from) {
		s.from = last.started
	}
	s.to = max(s.to, last.started)
	if s.before == 0 || last.started > 0 && last.started < s.before {
		s.before = last.started
	}
	return s
}

// checkKeys checks that no two jobs with one key were unfinished at once or, if the key is held for a period, enqueued within it.
func (v *verifier) checkKeys() {
	slices.SortFunc(v.spans, func(a, b span) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.from, b.from))
	})
	for i := 1; i < len(v.spans); i++ {
		a, b := &v.spans[i-1], &v.spans[i]
		if a.key != b.key {
			continue
		}
		if b.from < a.to && a.from < b.to {
			v.violated("jobs %v and %v with the unique key %s were there at once, for %v", a.id, b.id, a.key,
				time.Duration(min(a.to, b.to)-b.from))
		}
		if apart := max(b.before-a.after, a.before-b.after); a.before > 0 && b.before > 0 && time.Duration(apart) < a.uniqueFor {
			v.violated("jobs %v and %v with the unique key %s, held for %v, were enqueued within %v", a.id, b.id, a.key, a.uniqueFor,
				time.Duration(apart))
		}
	}
}
