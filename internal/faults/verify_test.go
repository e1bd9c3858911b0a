//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A story is an invented run: the lines of the ledgers, and the jobs in the store. A new story has no violation.
type story struct {
	lines []entry
	jobs  []*job.Job
	now   int64
	first int64 // tick
}

const second = int64(time.Second)

func newStory() *story {
	s := &story{now: 1_800_000_000 * second}
	s.first = s.now / second
	for i := range 3 {
		tick := s.first + int64(i)
		j := s.job(cronKind, "", fmt.Sprintf(`{"tick":%d}`, tick))
		s.attempt(j, 1, "a", "", "completed")
	}
	return s
}

// job adds a job to the store that has completed in its first attempt.
func (s *story) job(kind, key, args string) *job.Job {
	j := &job.Job{
		ID: job.NewID(), Kind: kind, Queue: job.DefaultQueue, UniqueKey: key, Args: []byte(args), State: job.Completed,
		Attempt: 1, MaxAttempts: 20, Worker: "a",
	}
	s.jobs = append(s.jobs, j)
	return j
}

func (s *story) add(e entry) {
	s.now += second / 10
	e.Time = s.now
	s.lines = append(s.lines, e)
}

func (s *story) enqueue(batch string, jobs ...*job.Job) {
	e, ack := entry{What: intends, Batch: batch}, entry{What: enqueued, Batch: batch}
	for _, j := range jobs {
		e.Jobs = append(e.Jobs, intended{ID: j.ID, Kind: j.Kind, Key: j.UniqueKey, For: j.UniqueFor})
		ack.IDs = append(ack.IDs, j.ID)
	}
	s.add(e)
	s.add(ack)
}

func (s *story) attempt(j *job.Job, n int, worker, failure, outcome string) {
	e := entry{ID: j.ID, Kind: j.Kind, Attempt: n, Worker: worker}
	e.What = starts
	s.add(e)
	if failure != "killed" {
		e.What, e.Outcome = ends, failure
		s.add(e)
	}
	if outcome != "" {
		e.What, e.Outcome = settled, outcome
		s.add(e)
	}
}

// work adds a job that was enqueued, ran and completed.
func (s *story) work(batch, key string) *job.Job {
	j := s.job("work", key, "{}")
	s.enqueue(batch, j)
	s.attempt(j, 1, "a", "", "completed")
	return j
}

// chain adds a job that ends in a state, and jobs that follow it.
func (s *story) chain(end string, followers int) {
	j := s.job("chain", "", "{}")
	s.enqueue("chain", j)
	if end == "completed" {
		s.attempt(j, 1, "a", "", end)
	} else { // its process died too often
		j.State, j.Crashed, j.Attempt, j.MaxAttempts = job.State(end), 1, 2, 1
		s.attempt(j, 1, "a", "killed", "")
	}
	for range followers {
		s.attempt(s.job(nextKind, "", fmt.Sprintf(`{"after":%q}`, j.ID)), 1, "a", "", "completed")
	}
}

func (s *story) remove(gone *job.Job) {
	kept := s.jobs[:0]
	for _, j := range s.jobs {
		if j != gone {
			kept = append(kept, j)
		}
	}
	s.jobs = kept
}

func (s *story) verify() *round {
	o := &round{site: &site{}, counts: map[string]int{}, ticksFrom: s.first, ticksTo: s.first + 2}
	t := newTale(o.violated)
	for _, e := range s.lines {
		t.add("p", e)
	}
	v := newVerifier(o, t)
	numbers := map[job.Count]int64{}
	for _, j := range s.jobs {
		v.see(j)
		numbers[job.Count{Queue: j.Queue, Kind: j.Kind, State: j.State}]++
	}
	var counts []job.Count
	for c, n := range numbers {
		c.N = n
		counts = append(counts, c)
	}
	v.seen(counts)
	return o
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(s *story)
		want  string // in the only violation; "" for none
	}{
		"all well": {func(s *story) { s.work("1", ""); s.work("2", "work:k"); s.work("3", "work:k") }, ""},
		"retried": {func(s *story) {
			j := s.job("work", "", "{}")
			j.Attempt = 2
			s.enqueue("1", j)
			s.attempt(j, 1, "a", "no", "retried")
			s.attempt(j, 2, "b", "", "completed")
		}, ""},
		"killed, and the other worker's outcome was not written down": {func(s *story) {
			j := s.job("work", "", "{}")
			j.Attempt, j.Crashed = 2, 1
			s.enqueue("1", j)
			s.attempt(j, 1, "a", "killed", "")
			s.attempt(j, 2, "b", "", "")
		}, ""},
		"paused, and its outcome refused": {func(s *story) {
			j := s.job("work", "", "{}")
			j.Attempt, j.Crashed = 2, 1
			s.enqueue("1", j)
			s.attempt(j, 2, "b", "", "completed")
			s.attempt(j, 1, "a", "", "lost")
		}, ""},
		"not acknowledged, and there": {func(s *story) {
			j := s.job("work", "", "{}")
			s.add(entry{What: intends, Batch: "1", Jobs: []intended{{ID: j.ID, Kind: j.Kind}}})
			s.add(entry{What: failed, Batch: "1", Outcome: "connection reset"})
			s.attempt(j, 1, "a", "", "completed")
		}, ""},

		"followed":           {func(s *story) { s.chain("completed", 1) }, ""},
		"not followed":       {func(s *story) { s.chain("completed", 0) }, "has completed, and 0 jobs follow it"},
		"followed twice":     {func(s *story) { s.chain("completed", 2) }, "has completed, and 2 jobs follow it"},
		"followed too early": {func(s *story) { s.chain("discarded", 1) }, "which has not completed"},
		"forgotten": {func(s *story) {
			j := s.job("work", "", "{}")
			s.enqueue("1", j)
			s.remove(j)
		}, "was acknowledged at"},
		"never run": {func(s *story) {
			s.enqueue("1", s.job("work", "", "{}"))
		}, "attempt 1 was not seen to end"},
		"nobody's": {func(s *story) { s.job("work", "", "{}") }, "nobody has enqueued"},
		"claimed by two": {func(s *story) {
			j := s.work("1", "")
			s.attempt(j, 1, "b", "killed", "")
		}, "was held by two workers: a and b"},
		"claimed twice by one": {func(s *story) {
			j := s.work("1", "")
			s.attempt(j, 1, "a", "killed", "")
		}, "was begun twice"},
		"settled without a fence": {func(s *story) {
			j := s.job("work", "", "{}")
			j.Attempt, j.Crashed = 2, 1
			s.enqueue("1", j)
			s.attempt(j, 2, "b", "", "completed")
			s.attempt(j, 1, "a", "", "completed")
		}, "settled as completed by a, which had lost it"},
		"queued again without a fence": {func(s *story) {
			j := s.job("work", "", "{}")
			j.Attempt, j.Crashed = 2, 1
			s.enqueue("1", j)
			s.attempt(j, 1, "a", "no", "retried")
			s.attempt(j, 2, "b", "", "completed")
		}, "was queued again by 1 workers that held it, want at most 0"},
		"settled twice": {func(s *story) {
			j := s.work("1", "")
			s.add(entry{What: settled, ID: j.ID, Kind: j.Kind, Attempt: 1, Worker: "a", Outcome: "retried"})
		}, "was settled twice"},
		"ended as something else": {func(s *story) {
			j := s.work("1", "")
			j.State = job.Canceled
			s.lines = s.lines[:len(s.lines)-1]
			s.attempt(j, 2, "a", "no", "")
			j.Attempt = 2
		}, "ended as canceled, want completed"},
		"beyond its attempts": {func(s *story) {
			j := s.job("fail", "", "{}")
			j.State, j.MaxAttempts, j.Attempt = job.Discarded, 1, 2
			s.enqueue("1", j)
			s.attempt(j, 1, "a", "no", "retried")
			s.attempt(j, 2, "a", "no", "discarded")
		}, "was begun 2 times"},
		"one key twice": {func(s *story) {
			a, b := s.job("work", "work:k", "{}"), s.job("work", "work:k", "{}")
			s.enqueue("1", a)
			s.enqueue("2", b)
			s.attempt(a, 1, "a", "", "completed")
			s.attempt(b, 1, "a", "", "completed")
		}, "with the unique key work:k were there at once"},
		"a key held for a while": {func(s *story) {
			for _, batch := range []string{"1", "2"} {
				j := s.job("work", "work:k", "{}")
				j.UniqueFor = 10 * time.Second
				s.enqueue(batch, j)
				s.attempt(j, 1, "a", "", "completed")
			}
		}, "held for 10s, were enqueued within"},
		"refused, and there": {func(s *story) {
			held, other := s.work("1", "work:k"), s.job("work", "work:k", "{}")
			s.add(entry{What: intends, Batch: "2", Jobs: []intended{{ID: other.ID, Kind: "work", Key: "work:k"}}})
			s.add(entry{What: enqueued, Batch: "2", IDs: []job.ID{held.ID}})
			s.attempt(other, 1, "a", "", "completed")
		}, "was refused for its key and is in the store"},
		"half a batch": {func(s *story) {
			a, b := s.job("work", "", "{}"), s.job("work", "", "{}")
			s.add(entry{What: intends, Batch: "1", Jobs: []intended{{ID: a.ID, Kind: "work"}, {ID: b.ID, Kind: "work"}}})
			s.attempt(a, 1, "a", "", "completed")
			s.remove(b)
		}, "of batch 1, 1 of 2 jobs are in the store"},
		"a tick without a job": {func(s *story) { s.remove(s.jobs[1]); s.lines = append(s.lines[:3:3], s.lines[6:]...) }, "has no job"},
		"a tick with two": {func(s *story) {
			j := s.job(cronKind, "", string(s.jobs[1].Args))
			s.attempt(j, 1, "a", "", "completed")
		}, "has 2 jobs"},
		"the last tick without a job": {func(s *story) { s.remove(s.jobs[2]); s.lines = s.lines[:6] }, "has no job"},
		"a tick after the end": {func(s *story) {
			s.attempt(s.job(cronKind, "", fmt.Sprintf(`{"tick":%d}`, s.first+3)), 1, "a", "", "completed")
		}, "is none"},
		"listed twice": {func(s *story) { s.jobs = append(s.jobs, s.work("1", "")) }, "is in the store twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			c.write(s)
			got := s.verify().violations
			if name == "listed twice" && len(got) == 2 {
				got = got[:1] // the other is that the counts differ
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one with %q", got, c.want)
			}
		})
	}
}

// lane adds jobs in a queue with limits, which run and complete, and returns them. times has the seconds at which each starts and ends.
func (s *story) lane(queue, key string, times ...[2]int64) (jobs []*job.Job) {
	l := findLimited(queue)
	begun := s.now
	for _, t := range times {
		j := s.job("work", "", "{}")
		j.Queue, j.LimitKey, j.Cost, j.Created = queue, key, l.cost, time.Unix(0, begun+int64(len(jobs)))
		s.enqueue(fmt.Sprint(queue, key, t, len(jobs)), j)
		e := entry{ID: j.ID, Kind: "work", Attempt: 1, Worker: "a", What: starts, Queue: queue, Lane: key, Cost: j.Cost}
		e.Claimed = begun + (t[0]+100)*second
		s.at(e, e.Claimed)
		e.What = ends
		s.at(e, begun+(t[1]+100)*second)
		e.What, e.Outcome = settled, "completed"
		s.at(e, begun+(t[1]+100)*second+1)
		jobs = append(jobs, j)
	}
	return jobs
}

// at adds a line with another time.
func (s *story) at(e entry, at int64) {
	e.Time = at
	s.lines = append(s.lines, e)
}

// discard changes the line that settled a job, so that the job is discarded.
func (s *story) discard(j *job.Job) {
	j.State, j.Kind = job.Discarded, "fail"
	for i := range s.lines {
		e := &s.lines[i]
		for n := range e.Jobs {
			if e.Jobs[n].ID == j.ID {
				e.Jobs[n].Kind = "fail"
			}
		}
		if e.ID != j.ID {
			continue
		}
		switch e.Kind = "fail"; e.What {
		case ends:
			e.Outcome = errOnPurpose.Error()
		case settled:
			e.Outcome = "discarded"
		}
	}
}

// dealWith adds an action of the operator on a discarded job.
func (s *story) dealWith(what string, j *job.Job, at int64) {
	s.at(entry{What: what, ID: j.ID, Kind: j.Kind, Attempt: 1, Queue: j.Queue, Lane: j.LimitKey, Created: j.Created.UnixNano()}, at)
}

func TestVerifyLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(s *story)
		want  string // in the violations; "" for none
	}{
		"as many as may run": {func(s *story) { s.lane("bounded", "", [2]int64{0, 9}, [2]int64{1, 5}, [2]int64{2, 6}, [2]int64{6, 8}) }, ""},
		"one more":           {func(s *story) { s.lane("bounded", "", [2]int64{0, 9}, [2]int64{1, 5}, [2]int64{2, 6}, [2]int64{4, 8}) }, "4 jobs of queue bounded ran"},
		"two of a key":       {func(s *story) { s.lane("keyed", "1", [2]int64{0, 9}, [2]int64{1, 5}, [2]int64{5, 6}) }, ""},
		"three of a key":     {func(s *story) { s.lane("keyed", "1", [2]int64{0, 9}, [2]int64{1, 5}, [2]int64{4, 6}) }, "3 jobs of key 1 of queue keyed ran"},
		"a burst":            {func(s *story) { s.lane("paced", "", slices.Repeat([][2]int64{{0, 1}}, 5)...) }, ""},
		"more than a burst":  {func(s *story) { s.lane("paced", "", slices.Repeat([][2]int64{{0, 1}}, 7)...) }, "of queue paced started at"},
		"as many units":      {func(s *story) { s.lane("metered", "", slices.Repeat([][2]int64{{0, 1}}, 3)...) }, ""},
		"units that come late together": {func(s *story) {
			s.lane("metered", "", [2]int64{0, 1}, [2]int64{0, 1}, [2]int64{0, 1}, [2]int64{9, 10}, [2]int64{9, 10}, [2]int64{9, 10})
		}, ""},
		"more units":          {func(s *story) { s.lane("metered", "", slices.Repeat([][2]int64{{0, 1}}, 5)...) }, "of queue metered started at"},
		"one after the other": {func(s *story) { s.lane("ordered", "1", [2]int64{0, 1}, [2]int64{1, 2}, [2]int64{3, 4}) }, ""},
		"out of order":        {func(s *story) { s.lane("ordered", "1", [2]int64{0, 1}, [2]int64{3, 4}, [2]int64{1, 2}) }, "which comes after it, had begun"},
		"two in order":        {func(s *story) { s.lane("ordered", "1", [2]int64{0, 3}, [2]int64{2, 4}) }, "2 jobs of key 1 of queue ordered ran"},
		"held by none":        {func(s *story) { s.discard(s.lane("ordered", "1", [2]int64{0, 1}, [2]int64{2, 3})[0]) }, ""},
		"not held":            {func(s *story) { s.discard(s.lane(heldQueue, "1", [2]int64{0, 1}, [2]int64{2, 3})[0]) }, "before it was discarded at"},
		"held until removed": {func(s *story) {
			begun := s.now
			j := s.lane(heldQueue, "1", [2]int64{0, 1}, [2]int64{4, 5})[0]
			s.discard(j)
			s.dealWith(removes, j, begun+103*second)
			s.remove(j)
		}, ""},
		"not held until removed": {func(s *story) {
			begun := s.now
			j := s.lane(heldQueue, "1", [2]int64{0, 1}, [2]int64{2, 3})[0]
			s.discard(j)
			s.dealWith(removes, j, begun+104*second)
			s.remove(j)
		}, "before it was discarded at"},
		"repaired": {func(s *story) { s.add(entry{What: repaired, Queue: "keyed", Lane: "1", Outcome: "it was closed"}) }, "did not match its jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			c.write(s)
			got := strings.Join(s.verify().violations, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
