package probe

import (
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/inspect"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain/[1]":          "plain/[1]",
		"商品 ü":               "商品 ü",
		"a\x1b[2J\nb\x00":    "a?[2J?b?",
		"tab\there":          "tab here",
		"c1\u009b31m":        "c1?31m",
		"\u202eleft":         "?left",
		"heart \u2764\ufe0f": "heart \u2764",
		"flag 🇩🇪":            "flag DE",
		"\xff":               "\ufffd",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:             "0s",
		0:                        "0s",
		30 * time.Microsecond:    "30µs",
		1200 * time.Microsecond:  "1.2ms",
		3 * time.Millisecond:     "3ms",
		999 * time.Millisecond:   "999ms",
		1 * time.Second:          "1.0s",
		9949 * time.Millisecond:  "9.9s",
		9960 * time.Millisecond:  "10s",
		59600 * time.Millisecond: "1m00s",
		3599 * time.Second:       "59m59s",
		3600 * time.Second:       "1h00m",
		100 * time.Hour:          "4d",
		1 << 62:                  "53375d",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestSpanIsShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		if got := Span(d); utf8.RuneCountInString(got) > 6 {
			t.Errorf("%v: %q is longer than 6 characters", d, got)
		}
	})
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Number(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 999: "999 tasks", 1000: "1,000 tasks", 1234567: "1,234,567 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWaitsAndPlace(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		wait         inspect.Wait
		waits, place string
	}{
		{inspect.Wait{For: "running"}, "running", ""},
		{inspect.Wait{For: "network", On: "read", Call: "net.(*conn).Read", File: "/src/shop/web/conn.go", Line: 8}, "network read", "web/conn.go:8 net.(*conn).Read"},
		{inspect.Wait{Call: "example.com/a/b.Map[example.com/c/d.E]", File: "f.go", Line: 1}, "", "f.go:1 b.Map[example.com/c/d.E]"},
		{inspect.Wait{For: "sleep", Until: now.Add(90 * time.Second), File: `C:\shop\beat.go`, Line: 1}, "sleep, 1m30s left", "shop/beat.go:1"},
		{inspect.Wait{For: "sleep", Until: now.Add(-time.Second), File: "x.go", Line: 2}, "sleep, 0s left", "x.go:2"},
		{inspect.Wait{For: "task", On: "a/b", Deadlock: true, Call: "f"}, "deadlock: task a/b", "f"},
		{inspect.Wait{For: "x\n", On: "\x1b", File: "\x1b.go"}, "x? ?", "?.go:0"},
	}
	for _, test := range tests {
		if got := Waits(test.wait, now); got != test.waits {
			t.Errorf("%+v waits: got %q, want %q", test.wait, got, test.waits)
		}
		if got := Place(test.wait); got != test.place {
			t.Errorf("%+v is at: got %q, want %q", test.wait, got, test.place)
		}
	}
}
