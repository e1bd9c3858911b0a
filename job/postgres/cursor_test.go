package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestCursors(t *testing.T) {
	var c cursors
	queues := []string{"a", "b"}
	began := time.Now()
	first := c.start(queues, nil, began)
	if !first.swept[0] || !first.swept[1] || !first.at[0].IsZero() {
		t.Fatalf("the first claim starts at %+v, want the beginning", first)
	}
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	found := []*job.Job{
		{ID: job.ID{1}, Queue: "b", Priority: 9, RunAt: due.Add(time.Second)},
		{ID: job.ID{9}, Queue: "b", Priority: 9, RunAt: due},
		{ID: job.ID{5}, Queue: "b", Priority: 1, RunAt: due},
	}
	c.note(first, found, 100*time.Millisecond)
	second := c.start(queues, nil, time.Now())
	if second.swept[0] || second.swept[1] {
		t.Errorf("swept again at once: %+v", second)
	}
	if at, id := second.at[9], second.ids[9]; !at.Equal(due.Add(time.Second)) || id != [16]byte{1} {
		t.Errorf("the cursor of b, priority 9, is %v %v", at, id)
	}
	if at, id := second.at[17], second.ids[17]; !at.Equal(due) || id != [16]byte{5} {
		t.Errorf("the cursor of b, priority 1, is %v %v", at, id)
	}
	if !second.at[0].IsZero() || !second.at[10].IsZero() {
		t.Errorf("there are cursors where nothing was found: %v", second.at)
	}
	if again := second.again(time.Now()); again <= 0 || again > sweepShare*100*time.Millisecond {
		t.Errorf("the next sweep is in %v", again)
	}
	later := time.Now().Add(sweepShare * 100 * time.Millisecond)
	third := c.start(queues, nil, later)
	if !third.swept[0] || !third.swept[1] || !third.at[9].IsZero() {
		t.Errorf("the claim after the pause starts at %+v, want the beginning", third)
	}
	if fourth := c.start(queues, nil, later); fourth.swept[0] {
		t.Error("two sweeps at once")
	}
}

func TestPattern(t *testing.T) {
	tests := []struct{ part, args, detail string }{
		{"", "%", ""},
		{"abc 1", "%abc 1%", "%abc 1%"},
		{"Disk", "%Disk%", "%d%"},
		{`a"b\c_d%e`, "%a%b%c%d%e%", "%a%b%c%d%e%"},
		{"Ärger", "%rger%", "%rger%"},
	}
	for _, test := range tests {
		if got := pattern(test.part, plain); got != test.args {
			t.Errorf("pattern(%q) = %q, want %q", test.part, got, test.args)
		}
		if got := errorHint(test.part); got != test.detail {
			t.Errorf("errorHint(%q) = %q, want %q", test.part, got, test.detail)
		}
	}
}

// A server may claim from queues that its clients name, each once.
func TestCursorsOfManyQueues(t *testing.T) {
	var c cursors
	for i := range 2*mostCursors + 10 {
		start := c.start([]string{fmt.Sprint("queue-", i)}, nil, time.Now())
		c.note(start, []*job.Job{{Queue: fmt.Sprint("queue-", i), Priority: 5}}, time.Millisecond)
	}
	if n := len(c.queues); n == 0 || n > mostCursors {
		t.Errorf("there are cursors of %d queues, want at most %d", n, mostCursors)
	}
	if forgotten := c.start([]string{"queue-1"}, nil, time.Now()); !forgotten.swept[0] {
		t.Error("a claim from a queue that was forgotten does not begin at its start")
	}
}
