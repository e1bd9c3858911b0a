package fetch

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

func someStats() *stats {
	s := newStats()
	for i := range 1000 {
		s.add(&transfer{elapsed: time.Duration(50+i/5) * time.Millisecond, bytes: 1000, status: 200 + 4*(i%2)})
	}
	s.add(&transfer{elapsed: 30 * time.Second, status: 200, err: &timeoutError{phase: receiving}})
	s.addNotURL()
	return s
}

func TestSummary(t *testing.T) {
	s := someStats()
	f := s.figures()
	f.elapsed = 31 * time.Second
	var b strings.Builder
	summarize(&b, f, s.outcomes(), s.spans(), false)
	want := `
1,001 URLs in 31.0s: 1,000 done, 1 failed, 1 line without a URL, 1.0MB
one after the other 3m00s; ideal, the longest alone, 30.0s; 5.8 times faster

  200  OK                                                500
  204  No Content                                        500
  ERR  timed out, receiving                                1

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
	status := 100
	for d := time.Microsecond; d < 48*time.Hour; d += d/3 + 1 {
		s.add(&transfer{elapsed: d, bytes: 1 << 40, status: status})
		status++
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
		t.Errorf("spans have %d of %d transfers", count, s.done)
	}
	f := s.figures()
	f.elapsed = f.sum / 1000
	var b strings.Builder
	summarize(&b, f, s.outcomes(), spans, true)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, "200  OK"},
		{&statusError{status: 429}, "200  OK"}, // the transfer's own status counts
		{retry.Permanent(&statusError{status: 404}), "200  OK"},
		{&timeoutError{phase: handshake}, "ERR  timed out, in the TLS handshake"},
		{&tooLongError{1}, "ERR  longer than --max-bytes"},
		{&finalError{classRedirect, errNotDone}, "ERR  redirect not followed"},
		{&finalError{classFile, os.ErrExist}, "ERR  file not written"},
		{&net.DNSError{IsNotFound: true}, "ERR  no such host"},
		{&net.DNSError{}, "ERR  host lookup failed"},
		{&tls.CertificateVerificationError{}, "ERR  certificate not accepted"},
		{&meanwhile.PanicError{}, "ERR  panic"},
		{io.ErrNoProgress, "ERR  other error of the connection"},
	}
	for _, test := range tests {
		if got := outcomeOf(&transfer{status: 200, err: test.err}).String(); got != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
	ctx := t.Context()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET} {
		if got := classOf(explain(ctx, fmt.Errorf("read: %w", err), newClock(), 0)); strings.HasPrefix(got, "other") {
			t.Errorf("%v is of class %q", err, got)
		}
	}
}

// TestOutcomesAreBounded: the table is bounded; rare outcomes are one line.
func TestOutcomesAreBounded(t *testing.T) {
	s := newStats()
	for status := range 40 {
		s.add(&transfer{status: 200 + status})
	}
	lines := strings.Split(strings.TrimSpace(tabulate(s.outcomes())), "\n")
	last := lines[len(lines)-1]
	if len(lines) != maxOutcomes+1 || !strings.HasPrefix(last, "  28 other outcomes") || !strings.HasSuffix(last, " 28") {
		t.Errorf("%d lines, the last is %q", len(lines), last)
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
