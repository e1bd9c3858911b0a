package dash

import (
	"testing"
	"time"
)

// TestRoundUpTime: the upper edge of a chart of durations is a round duration.
func TestRoundUpTime(t *testing.T) {
	for _, test := range []struct {
		n    time.Duration
		want string
	}{
		{1, "1 µs"},
		{3 * time.Millisecond, "5 ms"},
		{500 * time.Millisecond, "500 ms"},
		{501 * time.Millisecond, "1.0 s"},
		{time.Second, "1.0 s"},
		{3 * time.Second, "5.0 s"},
		{12 * time.Second, "15 s"},
		{31 * time.Second, "1 min"},
		{3 * time.Minute, "5 min"},
		{20 * time.Minute, "30 min"},
		{59 * time.Minute, "1 h"},
		{10_000 * time.Second, "3 h"},
		{7 * time.Hour, "12 h"},
		{13 * time.Hour, "1 d"},
		{24 * time.Hour, "1 d"},
		{25 * time.Hour, "2 d"},
		{72 * time.Hour, "5 d"},
		{15 * 24 * time.Hour, "20 d"},
	} {
		if got := timeScale.format(timeScale.round(float64(test.n))); got != test.want {
			t.Errorf("a chart up to %v has an edge at %s, want %s", test.n, got, test.want)
		}
	}
}
