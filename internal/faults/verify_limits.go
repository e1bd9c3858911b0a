//go:build unix

package main

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A laneJob is what is known of a job in a queue with limits.
type laneJob struct {
	id      job.ID
	queue   *limited
	key     string
	cost    int
	created int64 // by the store's clock, in nanoseconds since 1970; zero when it is not known
	*history
}

// A stretch is a time during which a job certainly ran.
type stretch struct {
	id       job.ID
	from, to int64
}

// limitedJobs returns what is known of the jobs in queues with limits, including those that the operator has deleted.
func (v *verifier) limitedJobs() []laneJob {
	var found []laneJob
	for id, h := range v.tale.jobs {
		if l := findLimited(h.queue); l != nil {
			created := h.created
			if j := v.lanes[id]; j != nil {
				created = j.Created.UnixNano()
			}
			found = append(found, laneJob{id, l, h.lane, h.cost, created, h})
		}
	}
	for i := range found {
		slices.SortFunc(found[i].attempts, func(a, b attempt) int { return cmp.Compare(a.number, b.number) })
	}
	slices.SortFunc(found, func(a, b laneJob) int {
		return cmp.Or(cmp.Compare(a.created, b.created), bytes.Compare(a.id[:], b.id[:]))
	})
	return found
}

// checkLimits checks that no queue and no key exceeded its limits of running jobs, starts or units, and that jobs which must run in order started in
// order.
func (v *verifier) checkLimits() {
	all := v.limitedJobs()
	type lane struct {
		queue *limited
		key   string
	}
	queues, lanes := map[*limited][]laneJob{}, map[lane][]laneJob{}
	for _, j := range all {
		queues[j.queue] = append(queues[j.queue], j)
		if j.key != "" {
			lanes[lane{j.queue, j.key}] = append(lanes[lane{j.queue, j.key}], j)
		}
		for i := range j.attempts {
			if j.attempts[i].claimed > 0 {
				v.count(countLimited)
			}
		}
	}
	for l, jobs := range queues {
		v.checkRunning("queue "+l.name, jobs, l.limits.Running)
		v.checkRate("queue "+l.name, jobs, l.limits.Starts)
		v.checkUnits("queue "+l.name, jobs, l.limits.Units)
	}
	for l, jobs := range lanes {
		what := "key " + l.key + " of queue " + l.queue.name
		v.checkRunning(what, jobs, l.queue.limits.EachKey.AtOnce())
		v.checkRate(what, jobs, l.queue.limits.EachKey.Starts)
		if l.queue.limits.EachKey.InOrder {
			v.checkOrder(what, jobs)
		}
		if l.queue.limits.EachKey.HoldOnDiscard {
			v.checkHolds(what, jobs)
		}
	}
}

// stretches returns when a job certainly ran: from the start of its handler, which is after the claim, to the end of the handler, which is before the
// outcome was sent, if the store accepted the outcome; or until the job was claimed again because its lease had expired, since it occupies its slot
// until then.
func (j *laneJob) stretches() (all []stretch) {
	for i := range j.attempts {
		a := &j.attempts[i]
		if a.started == 0 {
			continue
		}
		to := a.started
		if next := j.after(i); next != nil && next.crashed > a.crashed {
			to = max(to, next.claimed)
		} else if a.outcome != "" {
			to = a.ended
		}
		all = append(all, stretch{j.id, a.started, to})
	}
	return all
}

// after returns the attempt right after the ith, or nil if that is not known.
func (j *laneJob) after(i int) *attempt {
	if i+1 < len(j.attempts) && j.attempts[i+1].number == j.attempts[i].number+1 && j.attempts[i+1].claimed > 0 {
		return &j.attempts[i+1]
	}
	return nil
}

func (v *verifier) checkRunning(what string, jobs []laneJob, most int) {
	if most == 0 {
		return
	}
	type change struct {
		at int64
		n  int
		id job.ID
	}
	var changes []change
	for i := range jobs {
		for _, s := range jobs[i].stretches() {
			if s.to > s.from {
				changes = append(changes, change{s.from, 1, s.id}, change{s.to, -1, s.id})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
	running := map[job.ID]int{}
	for _, c := range changes {
		if running[c.id] += c.n; running[c.id] == 0 {
			delete(running, c.id)
		}
		if c.n > 0 && len(running) > most {
			v.violated("%d jobs of %s ran at %s, with a limit of %d: job %v and others", len(running), what, instant(c.at), most, c.id)
			return
		}
	}
}

// A start is a claim of a queued job, which used up a start and units.
type start struct {
	id   job.ID
	at   int64 // by the store's clock
	cost int
}

// startsOf returns the claims that certainly used up a start: not those after an expired lease, or before which a lease may have expired. They are
// sorted by time, and at the same instant by cost, lowest first: in this order limits allow the most starts.
func startsOf(jobs []laneJob) (all []start) {
	for _, j := range jobs {
		crashed := 0
		for _, a := range j.attempts {
			if a.claimed == 0 {
				continue
			}
			if a.crashed == crashed {
				all = append(all, start{j.id, a.claimed, j.cost})
			}
			crashed = a.crashed
		}
	}
	slices.SortFunc(all, func(a, b start) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.cost, b.cost)) })
	return all
}

// unsharp is by how much times may differ because they were truncated to microseconds.
const unsharp = time.Millisecond

func (v *verifier) checkRate(what string, jobs []laneJob, r job.Rate) {
	if r.N > 0 {
		v.replay(what, r, startsOf(jobs), func(r job.Rate, full, at time.Time, _ int) time.Time { return r.Take(full, at, 1) })
	}
}

func (v *verifier) checkUnits(what string, jobs []laneJob, r job.Rate) {
	if r.N > 0 {
		v.replay(what, r, startsOf(jobs), charge)
	}
}

// mostLate is by how much a late start may let the next one start early.
const mostLate = 50 * time.Millisecond

// charge is job.Rate.Charge for one of several jobs that a claim charges together. It may be late by as much as all of them together may be.
func charge(r job.Rate, full, at time.Time, cost int) time.Time {
	if earliest := at.Add(-mostLate); cost > 0 && full.Before(earliest) {
		full = earliest
	}
	return full.Add(time.Duration(cost) * r.Per / time.Duration(r.N))
}

// replay applies a rate to the known starts. Starts that are not known could only let fewer jobs start.
func (v *verifier) replay(what string, r job.Rate, starts []start, take func(r job.Rate, full, at time.Time, cost int) time.Time) {
	var full time.Time
	for _, s := range starts {
		at := time.Unix(0, s.at)
		if next := r.Next(full, at); next.Sub(at) > unsharp {
			v.violated("job %v of %s started at %s, %v before %v lets it", s.id, what, instant(s.at), next.Sub(at), r)
			return
		}
		full = take(r, full, at, s.cost)
	}
}

// checkOrder checks that after a job has started, no job before it is claimed any more. A job whose Enqueue had not returned before the later job was
// claimed is ignored: it may have been stored after it.
func (v *verifier) checkOrder(what string, jobs []laneJob) {
	for i := range jobs {
		claimed, began := jobs[i].first()
		if began == 0 {
			continue
		}
		for _, before := range jobs[:i] {
			if before.created == 0 || before.acked == 0 || before.acked > claimed {
				continue
			}
			for _, a := range before.attempts {
				if a.claimed > began {
					v.violated("job %v of %s was claimed at %s, when job %v, which comes after it, had begun", before.id, what, instant(a.claimed), jobs[i].id)
					return
				}
			}
		}
	}
}

// first returns when a job was first claimed and started, or zeros if that is not known.
func (j *laneJob) first() (claimed, began int64) {
	for _, a := range j.attempts {
		if a.claimed > 0 && a.started > 0 {
			return a.claimed, a.started
		}
	}
	return 0, 0
}

// checkHolds checks that no later job started while a job was discarded and the operator had not begun to act on it.
func (v *verifier) checkHolds(what string, jobs []laneJob) {
	for i := range jobs {
		for _, a := range jobs[i].attempts {
			if a.outcome != string(job.Discarded) || jobs[i].created == 0 {
				continue
			}
			until, dealt := jobs[i].dealt[a.number]
			v.count(countHolds)
			for _, behind := range jobs[i+1:] {
				for _, b := range behind.attempts {
					if b.claimed > a.settled && (!dealt || b.started > 0 && b.started < until) {
						v.violated("job %v of %s was claimed at %s, and job %v before it was discarded at %s", behind.id, what, instant(b.claimed), jobs[i].id, instant(a.settled))
						return
					}
				}
			}
		}
	}
}

func instant(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05.000000") }
