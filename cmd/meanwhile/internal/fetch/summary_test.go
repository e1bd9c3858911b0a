package fetch

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func someStats() *stats {
	s := newStats()
	for i := range 1000 {
		s.add(&transfer{elapsed: time.Duration(50+i/5) * time.Millisecond, bytes: 1000})
	}
	s.add(&transfer{elapsed: 30 * time.Second, err: errNotDone})
	s.addNotURL()
	return s
}

func TestSummary(t *testing.T) {
	s := someStats()
	f := s.figures()
	f.elapsed = 31 * time.Second
	var b strings.Builder
	summarize(&b, f, s.spans(), false)
	want := `
1,001 URLs in 31.0s: 1,000 done, 1 failed, 1 line without a URL, 1.0MB
one after the other 3m00s; ideal, the longest alone, 30.0s; 5.8 times faster
p50 149ms  p90 229ms  p99 247ms  max 249ms

  up to   56ms  #######                                   35
  up to   67ms  ###########                               55
  up to   80ms  #############                             65
  up to  100ms  ####################                      100
  up to  120ms  ####################                      100
  up to  140ms  ####################                      100
  up to  170ms  ##############################            150
  up to  200ms  ##############################            150
  up to  240ms  ########################################  200
  up to  280ms  #########                                 45
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSummaryFits(t *testing.T) {
	s := newStats()
	for d := time.Microsecond; d < 48*time.Hour; d += d/3 + 1 {
		s.add(&transfer{elapsed: d, bytes: 1 << 40})
	}
	spans := s.spans()
	if len(spans) > maxSpans {
		t.Errorf("%d spans, want at most %d", len(spans), maxSpans)
	}
	count := 0
	for _, span := range spans {
		count += span.count
	}
	if count != s.done {
		t.Errorf("spans hold %d of %d", count, s.done)
	}
	f := s.figures()
	f.elapsed = f.sum / 1000
	var b strings.Builder
	summarize(&b, f, spans, true)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestShort(t *testing.T) {
	sizes := map[int64]string{0: "0B", 999: "999B", 1000: "1.0kB", 9949: "9.9kB", 9950: "10kB", 999_499: "999kB", 999_500: "1.0MB", 1 << 62: "4.6EB"}
	for n, want := range sizes {
		if got := shortSize(n); got != want {
			t.Errorf("shortSize(%d) = %s, want %s", n, got, want)
		}
	}
	times := map[time.Duration]string{
		0: "0µs", 99 * time.Microsecond: "99µs", 1500 * time.Microsecond: "1.5ms", 2 * time.Millisecond: "2ms", 35 * time.Millisecond: "35ms",
		999_600 * time.Microsecond: "1.00s", 9_996 * time.Millisecond: "10.0s", 59_960 * time.Millisecond: "1m00s", 90 * time.Second: "1m30s",
		time.Hour - time.Millisecond: "1h00m", 26 * time.Hour: "26h00m", 240 * time.Hour: "10d",
	}
	for d, want := range times {
		if got := shortTime(d); got != want {
			t.Errorf("shortTime(%v) = %s, want %s", d, got, want)
		}
	}
}
