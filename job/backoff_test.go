package job

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDefaultAttemptsTakeAboutADay checks the documentation of MaxAttempts: it adds up the expected waits.
func TestDefaultAttemptsTakeAboutADay(t *testing.T) {
	least, most := time.Duration(0), time.Duration(0)
	for attempt := 1; attempt < defaultMaxAttempts; attempt++ {
		bound := backoffBound(attempt)
		least, most = least+bound/2, most+bound
	}
	expected := (least + most) / 2 // each wait is drawn evenly from the upper half of its bound
	t.Logf("%d attempts take from %v to %v, %v on average", defaultMaxAttempts, least, most, expected)
	if day := 24 * time.Hour; (expected - day).Abs() > 2*time.Hour {
		t.Errorf("%d attempts take %v on average, want about a day", defaultMaxAttempts, expected)
	}
}

func TestBackoffLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(-1, 1e6).Draw(t, "attempt")
		bound := backoffBound(attempt)
		if got := DefaultBackoff(attempt, nil); got < bound/2 || got > bound {
			t.Fatalf("attempt %d waits %v, want from %v to %v", attempt, got, bound/2, bound)
		}
		if next := backoffBound(attempt + 1); next < bound || next > backoffMax {
			t.Fatalf("attempt %d waits up to %v, the next up to %v", attempt, bound, next)
		}
	})
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 20: backoffMax} {
		if got := backoffBound(attempt); got != want {
			t.Errorf("attempt %d waits up to %v, want %v", attempt, got, want)
		}
	}
}
