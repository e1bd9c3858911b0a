package dash

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// axis is the width of a timeline's drawing, which is stretched to the available space.
const axis = 1000

// A timeline is the life of a job, with a row for each attempt.
type timeline struct {
	From, To time.Time
	Rows     []attempt
}

// An attempt is a wait, and the run after it.
type attempt struct {
	N       int // 0 if it has not started
	Missing int // attempts before it without a record: snoozed, released, or too old to be kept
	Wait    time.Duration
	Started time.Time
	Ended   time.Time // zero while it runs
	Run     time.Duration
	Outcome string // a state, or "failed", "put off"
	Worker  string
	Due     time.Time // of an attempt that has not started

	WaitX, WaitWidth, RunX, RunWidth int
}

// Room is how many attempts are visible without scrolling, with space for more to come.
func (t *timeline) Room() int { return min(len(t.Rows)+2, 6) }

func newTimeline(j *job.Job, now time.Time) timeline {
	t := timeline{From: j.Created, To: now}
	if !j.Finished.IsZero() {
		t.To = j.Finished
	}
	since, last := j.Created, 0
	add := func(a attempt) {
		if a.N > 0 {
			a.Missing = max(a.N-last-1, 0)
			last = a.N
		}
		end := a.Started
		if a.Started.IsZero() {
			end = t.To
		}
		a.Wait = max(end.Sub(since), 0)
		a.WaitX, a.WaitWidth = t.stretch(since, end)
		if a.Started.IsZero() {
			t.Rows = append(t.Rows, a)
			return
		}
		end = a.Ended
		if end.IsZero() {
			end = t.To
		}
		a.Run = max(end.Sub(a.Started), 0)
		a.RunX, a.RunWidth = t.stretch(a.Started, end)
		a.RunWidth = max(a.RunWidth, 4) // to be visible
		a.RunX = min(a.RunX, axis-a.RunWidth)
		since = end
		t.Rows = append(t.Rows, a)
	}
	for _, f := range j.Failures {
		outcome := "failed"
		if f.Attempt == j.Attempt && j.State.Finished() && j.State != job.Completed {
			outcome = string(j.State)
		}
		add(attempt{N: f.Attempt, Started: f.Started, Ended: f.Time, Outcome: outcome, Worker: f.Worker})
	}
	switch {
	case j.State == job.Running:
		add(attempt{N: j.Attempt, Started: j.Started, Outcome: string(job.Running), Worker: j.Worker})
	case j.State.Finished() && j.Attempt > last:
		add(attempt{N: j.Attempt, Started: j.Started, Ended: j.Finished, Outcome: string(j.State), Worker: j.Worker})
	case j.State == job.Queued:
		add(attempt{Outcome: string(j.View(now)), Due: j.RunAt})
	}
	return t
}

// stretch returns the position of a time span in the drawing.
func (t *timeline) stretch(from, to time.Time) (x, width int) {
	whole := t.To.Sub(t.From)
	if whole <= 0 {
		return 0, 0
	}
	place := func(at time.Time) int {
		return int(min(max(float64(at.Sub(t.From))/float64(whole), 0), 1) * axis)
	}
	x = place(from)
	return x, place(to) - x
}
