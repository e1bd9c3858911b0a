package fetch

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func busy() progress {
	return progress{
		figures: figures{
			done: 123_456, failed: 7_890, elapsed: time.Hour, p50: 123 * time.Millisecond, p99: 59 * time.Second,
		},
		total: 1_000_000, running: 512, limit: 512, rate: 1234.5,
		oldest: []string{"   12.0s  waiting for an answer  http://example.com/" + strings.Repeat("long/", 20)},
	}
}

func TestProgressLines(t *testing.T) {
	got := strings.Join(busy().lines(80, true), "\n")
	want := `█████▎░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   13%  131,346/1,000,000  11m44s left
123,456 done  7,890 failed  1,235/s  512 in flight, limit 512
p50 123ms, p99 59.0s
   12.0s  waiting for an answer  http://example.com/long/long/long/long/long/lo`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestProgressFits: the view fits into any width.
func TestProgressFits(t *testing.T) {
	unknown := busy()
	unknown.total = 0
	for _, p := range []progress{busy(), unknown, {}, {total: 1}} {
		for _, blocks := range []bool{true, false} {
			for width := 20; width < 130; width++ {
				lines := p.lines(width, blocks)
				if len(lines) > 6+maxOldest {
					t.Errorf("%d lines at width %d", len(lines), width)
				}
				for _, line := range lines {
					if n := utf8.RuneCountInString(line); n >= width || !blocks && n != len(line) {
						t.Errorf("width %d: %d columns: %q", width, n, line)
					}
				}
			}
		}
	}
}

// TestOldestFlights: the oldest attempts in flight are shown, if they are old enough.
func TestOldestFlights(t *testing.T) {
	var f inFlight
	now := time.Now()
	var leave []func()
	for i, age := range []time.Duration{90 * time.Second, 30 * time.Second, 2 * time.Second, 1500 * time.Millisecond, 999 * time.Millisecond} {
		c := newClock()
		c.begun = now.Add(-age)
		c.enter(waiting, false)
		leave = append(leave, f.enter("http://h/"+strconv.Itoa(i), c))
	}
	want := []string{"   1m30s  waiting for an answer  http://h/0", "   30.0s  waiting for an answer  http://h/1", "   2.00s  waiting for an answer  http://h/2"}
	if got := f.oldest(now); !slices.Equal(got, want) || f.count() != 5 {
		t.Errorf("%d in flight, got %q, want %q", f.count(), got, want)
	}
	leave[0]()
	leave[2]()
	want = []string{want[1], "   1.50s  waiting for an answer  http://h/3"}
	if got := f.oldest(now); !slices.Equal(got, want) || f.count() != 3 {
		t.Errorf("%d in flight, got %q, want %q", f.count(), got, want)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	now := time.Now()
	for i := range 10_000 {
		got := m.rate(now.Add(time.Duration(i)*100*time.Millisecond), 7*i)
		if i > 0 && (got < 69.9 || got > 70.1) {
			t.Fatalf("sample %d: got %v per second, want 70", i, got)
		}
	}
	if len(m.samples) > 256 {
		t.Errorf("%d samples kept", len(m.samples))
	}
}
