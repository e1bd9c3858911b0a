package dash

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0 s", 1: "1 µs", 1500 * time.Microsecond: "1 ms", 999 * time.Millisecond: "999 ms", 1550 * time.Millisecond: "1.5 s",
		59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s", 11*time.Minute + 3*time.Second: "11 min", 90 * time.Minute: "1 h 30 min", 50 * time.Hour: "2 d 2 h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", 999 * time.Millisecond: "now", time.Second: "1 s ago", 119 * time.Second: "1 min ago", 47 * time.Hour: "47 h ago", 49 * time.Hour: "2 d ago", -90 * time.Second: "in 1 min",
	} {
		if got := ago(d); got != want {
			t.Errorf("ago(%v) is %q, want %q", d, got, want)
		}
	}
	if got, want := number(int64(-1234567))+" "+count(1, "job")+" "+count(1000, "job")+" "+bytesText(1_500_000), "-1,234,567 1 job 1,000 jobs 1.5 MB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTimeline(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	j := &job.Job{Created: start, State: job.Queued, Attempt: 5, Uncounted: 1, MaxAttempts: 9, RunAt: at(120), Detail: job.Detail{Failures: []job.Failure{
		{Attempt: 1, Started: at(10), Time: at(20)}, {Attempt: 4, Started: at(50), Time: at(51)},
	}}}
	got := newTimeline(j, at(100))
	want := []attempt{
		{N: 1, Wait: 10 * time.Second, Run: 10 * time.Second, Outcome: "failed", WaitX: 0, WaitWidth: 100, RunX: 100, RunWidth: 100},
		{N: 4, Missing: 2, Wait: 30 * time.Second, Run: time.Second, Outcome: "failed", WaitX: 200, WaitWidth: 300, RunX: 500, RunWidth: 10},
		{Wait: 49 * time.Second, Outcome: "retrying", WaitX: 510, WaitWidth: 490},
	}
	if len(got.Rows) != len(want) {
		t.Fatalf("got %d rows: %+v", len(got.Rows), got.Rows)
	}
	for i, w := range want {
		g := got.Rows[i]
		g.Started, g.Ended, g.Due = time.Time{}, time.Time{}, time.Time{}
		if g != w {
			t.Errorf("row %d\n got %+v\nwant %+v", i, g, w)
		}
	}
	for state, outcome := range map[job.State]string{job.Running: "running", job.Completed: "completed", job.Discarded: "discarded", job.Canceled: "canceled"} {
		j := &job.Job{Created: start, State: state, Attempt: 1, Started: at(1)}
		if state.Finished() {
			j.Finished = at(2)
		}
		rows := newTimeline(j, at(3)).Rows
		if len(rows) != 1 || rows[0].Outcome != outcome {
			t.Errorf("%s: %+v", state, rows)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for n, want := range map[float64]float64{1: 1, 1.1: 2, 4: 5, 6: 10, 1000: 1000, 2300: 5000, 0.3: 0.5} {
		if got := roundUp(n); got < want*.999 || got > want*1.001 {
			t.Errorf("roundUp(%g) is %g, want %g", n, got, want)
		}
	}
}

func TestDue(t *testing.T) {
	for d, want := range map[time.Duration]string{-3 * time.Minute: "in 3 min", 0: "now", 4 * time.Second: "due 4 s ago", 49 * time.Hour: "due 2 d ago"} {
		if got := due(d); got != want {
			t.Errorf("due(%v) is %q, want %q", d, got, want)
		}
	}
}
