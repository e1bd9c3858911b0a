package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	table := newTable(&b, column{title: "ID"}, column{title: "KIND", least: 8}, column{title: "QUEUE", least: 6}, column{title: "N", right: true})
	rows := []row{
		{cells: []string{strings.Repeat("i", 36), strings.Repeat("漢", 30), strings.Repeat("q", 40), "1,000"}, below: strings.Repeat("b", 100)},
		{cells: []string{"x" + nasty, "k", "q", "1"}, below: nasty},
	}
	if err := table.write(rows); err != nil {
		t.Fatal(err)
	}
	if err := table.write([]row{{cells: []string{"2", strings.Repeat("l", 99), "q", "2"}}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if got, want := len(lines), 6; got != want {
		t.Fatalf("got %d lines, want %d:\n%s", got, want, b.String())
	}
	for _, line := range lines {
		if width := ansi.StringWidth(line); width > 80 || strings.ContainsAny(line, "\x1b\r\x07") {
			t.Errorf("a line of %d columns: %q", width, line)
		}
	}
	if got, want := strings.Fields(lines[0]), 4; len(got) != want {
		t.Errorf("got titles %q, want %d", got, want)
	}
}

func TestStateTime(t *testing.T) {
	now := time.Now()
	for since, want := range map[time.Duration]string{
		0: "0s ago", 1900 * time.Millisecond: "1s ago", -time.Second: "0s ago", 5*time.Minute + 40*time.Second: "5m ago",
		2*time.Hour + 59*time.Minute: "2h ago", 120*time.Hour + time.Minute: "5d ago",
	} {
		if got := stateTime(&job.Job{State: job.Completed, Finished: now.Add(-since)}, now); got != want {
			t.Errorf("finished %v before: got %q, want %q", since, got, want)
		}
	}
	for in, want := range map[time.Duration]string{2 * time.Hour: "in 2h", 90 * time.Second: "in 1m30s", 200 * time.Hour: "in 8d8h"} {
		if got := stateTime(&job.Job{State: job.Queued, RunAt: now.Add(in)}, now); got != want {
			t.Errorf("due in %v: got %q, want %q", in, got, want)
		}
	}
}

func TestListRowFits(t *testing.T) {
	now := time.Now()
	j := &job.Job{Kind: "http.request", Queue: "default", State: job.Discarded, Attempt: 20, MaxAttempts: 20, Finished: now.Add(-100 * time.Hour)}
	j.Failures = []job.Failure{{Error: "it broke"}}
	r := listRow(j, now)
	width := 2 * (len(r.cells) - 1)
	for _, cell := range r.cells {
		width += ansi.StringWidth(cell)
	}
	if width > 80 {
		t.Errorf("a usual job takes %d columns: %q", width, r.cells)
	}
	if got, want := r.below, "attempt 20 of 20: it broke"; got != want {
		t.Errorf("got %q below, want %q", got, want)
	}
}
