package when

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1.5d": 36 * time.Hour, "0s": 0, "15250w": 15250 * 7 * 24 * time.Hour,
	} {
		if got, err := parseSpan(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "-1s", "-1d", "1e9d", "15251w", "40000w", "106752d", "NaNd", "Infd", "soon"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestMoment(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
		"2026-01-31 15:04":     time.Date(2026, 1, 31, 15, 4, 0, 0, time.Local),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local),
	} {
		if got, err := parseMoment(text); !got.Equal(want) || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := parseMoment("2026-02-30"); err == nil {
		t.Errorf("got %v for the 30th of February", got)
	}
}

func TestPast(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2h": now.Add(-2 * time.Hour), "1d": now.AddDate(0, 0, -1), "today": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "Yesterday": time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC),
		"yesterday 14:00": time.Date(2026, 2, 28, 14, 0, 0, 0, time.UTC), "14:00": time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC), "today 1:02:03.5": time.Date(2026, 3, 1, 1, 2, 3, 5e8, time.UTC),
		"2026-01-31T15:04:05Z": time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
	} {
		if got, err := parsePast(text, now); !got.Equal(want) || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "today 25:00", "yesterday today", "14", "monday 14:00"} {
		if got, err := parsePast(text, now); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	var p Past
	if err := p.UnmarshalText([]byte("2h")); err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(p.Time); ago < 2*time.Hour || ago > 3*time.Hour {
		t.Errorf("2h is %v ago", ago)
	}
}
