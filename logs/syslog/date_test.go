package syslog

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// Dates are read as package time reads them.
func TestTimestampLaw(t *testing.T) {
	var m minute
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(0, rapid.Int64Range(-9e18, 9e18).Draw(t, "time"))
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "minutes"))
		text := at.In(zone).Format(time.RFC3339Nano)
		got, rest, ok := m.cut([]byte(text + " x"))
		if !ok || got != at.UnixNano() || string(rest) != " x" {
			t.Fatalf("%s: got %d, %q, %v, want %d", text, got, rest, ok, at.UnixNano())
		}
	})
}

// A connection that was opened while the clock was wrong reads dates by the right time as soon as the clock is set. A time with a
// monotonic part would continue from the wrong one.
func TestDateAfterTheClockIsSet(t *testing.T) {
	p := (&Protocol{}).Parser("", nil).(*parser)
	p.Parse([]byte("<14>May  4 12:00:00 h a: x\n"), &logtest.Recorder{})
	if now := p.hour.now; now != now.Round(0) {
		t.Errorf("%v has a monotonic part", now)
	}
}

func FuzzTimestamp(f *testing.F) {
	f.Add("2026-05-04T03:02:01.123456789Z")
	f.Add("2026-05-04T03:02:01+02:00 x")
	f.Add("2026-02-29T03:02:61-24:00")
	f.Fuzz(func(t *testing.T, text string) {
		var m minute
		got, rest, ok := m.cut([]byte(text))
		if !ok {
			return
		}
		read := text[:len(text)-len(rest)]
		want, err := time.Parse(time.RFC3339, read)
		if err == nil && want.UnixNano() != got {
			t.Errorf("%s: got %d, want %d", read, got, want.UnixNano())
		}
	})
}
