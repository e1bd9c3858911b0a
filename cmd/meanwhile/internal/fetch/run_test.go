package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"
)

// roundTripper replaces the network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, status int, header ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("body")), ContentLength: 4, Request: r}
}

// newRun returns the run of a command line, with web instead of the network.
func newRun(t *testing.T, in io.Reader, out, notes io.Writer, web roundTripper, args ...string) *run {
	t.Helper()
	var c Command
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	r, err := c.open(Streams{In: in, Out: out, Err: notes})
	if err != nil {
		t.Fatal(err)
	}
	r.fetcher.client.Transport = web
	return r
}

// undisturbed replaces heed if there is no signal.
func undisturbed(context.Context, context.CancelCauseFunc) {}

var errInterrupt = errors.New("interrupt")

// TestRetryWaits: a Retry-After of an hour is obeyed, and the global rate also applies to retries.
func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		begun := time.Now()
		web := func(r *http.Request) (*http.Response, error) {
			times = append(times, time.Since(begun))
			switch len(times) {
			case 1:
				return answer(r, 503, "Retry-After", "3600"), nil
			case 2:
				return answer(r, 503, "Retry-After", "0"), nil
			}
			return answer(r, 200), nil
		}
		var out, notes bytes.Buffer
		r := newRun(t, nil, &out, &notes, web, "--json", "--retry=5", "--retry-max-time=2h", "--rate=1/m", "http://a/")
		if err := r.do(undisturbed); err != nil {
			t.Errorf("%v\n%s%s", err, &out, &notes)
		}
		want := []time.Duration{0, time.Hour, time.Hour + time.Minute}
		for i, d := range want {
			if i >= len(times) || times[i] != d {
				t.Fatalf("attempts at %v, want %v", times, want)
			}
		}
		if got, want := out.String(), `"total":3660000},"attempts":3}`; !strings.Contains(got, want) {
			t.Errorf("got %s, want it to contain %s", got, want)
		}
	})
}

// TestRates: starts are at the distances of the rates, globally and for each host.
func TestRates(t *testing.T) {
	tests := []struct {
		flag string
		want time.Duration // from the first to the last of 10 starts, 5 for each of two hosts
	}{
		{"--rate=10/s", 900 * time.Millisecond},
		{"--per-host-rate=10/s", 400 * time.Millisecond},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			var last atomic.Int64
			web := func(r *http.Request) (*http.Response, error) {
				last.Store(int64(time.Since(begun)))
				return answer(r, 200), nil
			}
			r := newRun(t, strings.NewReader(strings.Repeat("http://a/\nhttp://b/\n", 5)), io.Discard, io.Discard, web, test.flag)
			if err := r.do(undisturbed); err != nil || time.Duration(last.Load()) != test.want {
				t.Errorf("%s: last start after %v, %v; want %v", test.flag, time.Duration(last.Load()), err, test.want)
			}
		})
	}
}

// TestTimeoutPhase: the time limit of an attempt ends while its response arrives.
func TestTimeoutPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GotFirstResponseByte()
			a := answer(r, 200)
			a.Body, a.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("body"), until(r.Context()))), -1
			return a, nil
		}
		var out bytes.Buffer
		r := newRun(t, nil, &out, io.Discard, web, "--max-time=90", "http://a/")
		_ = r.do(undisturbed)
		if got, want := out.String(), "ERR      4B   1m30s  http://a/  timed out after 1m30s, receiving (4B so far)\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

type readerFunc func() error

func (f readerFunc) Read([]byte) (int, error) { return 0, f() }

// until is a reader that blocks until ctx is canceled.
func until(ctx context.Context) io.Reader {
	return readerFunc(func() error { <-ctx.Done(); return ctx.Err() })
}

// TestTimeoutLeavesLine: the time spent waiting for a host is not part of an attempt's time.
func TestTimeoutLeavesLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(20 * time.Second):
				return answer(r, 200), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		lines := strings.NewReader(strings.Repeat("http://a/\n", 100))
		r := newRun(t, lines, io.Discard, io.Discard, web, "--per-host=1", "--max-time=30")
		begun := time.Now()
		if err := r.do(undisturbed); err != nil {
			t.Error(err)
		}
		if f := r.stats.figures(); f.done != 100 || time.Since(begun) != 2000*time.Second || f.longest != 20*time.Second {
			t.Errorf("%d done in %v, longest %v", f.done, time.Since(begun), f.longest)
		}
	})
}

// TestPanic: a transfer that panics is a failure like any other.
func TestPanic(t *testing.T) {
	web := func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "bad" {
			panic("oops")
		}
		return answer(r, 200), nil
	}
	var out bytes.Buffer
	r := newRun(t, nil, &out, io.Discard, web, "http://bad/", "http://good/")
	if err := r.do(undisturbed); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	if got := out.String(); !strings.Contains(got, "http://bad/  panic: oops") || !strings.Contains(got, "200 ") || strings.Count(got, "\n") != 2 {
		t.Errorf("got\n%s", got)
	}
}

// blocked is a standard input that never has data, like a terminal without a user.
type blocked chan struct{}

func (b blocked) Read([]byte) (int, error) { <-b; return 0, io.EOF }

// TestInterruptBlockedInput: blocked input does not delay the end.
func TestInterruptBlockedInput(t *testing.T) {
	in := make(blocked)
	defer close(in)
	var interrupt context.CancelCauseFunc
	var notes bytes.Buffer
	r := newRun(t, io.MultiReader(strings.NewReader("http://a/\n"), in), io.Discard, &notes, func(r *http.Request) (*http.Response, error) {
		interrupt(errInterrupt)
		return answer(r, 200), nil
	})
	if err := r.do(func(_ context.Context, stop context.CancelCauseFunc) { interrupt = stop }); !errors.Is(err, ErrInterrupted) {
		t.Errorf("got %v, want ErrInterrupted", err)
	}
	if want := "Not started: standard input from line 2 on\n"; !strings.HasSuffix(notes.String(), want) {
		t.Errorf("got\n%s\nwant at the end %s", &notes, want)
	}
}

// TestInterruptKeepsEnded: a transfer that ended before the interrupt is reported as done, even if its line was not printed yet.
func TestInterruptKeepsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := func(r *http.Request) (*http.Response, error) { return answer(r, 200), nil }
		out := new(slowWriter)
		lines := strings.NewReader(strings.Repeat("http://a/\n", 50))
		r := newRun(t, lines, out, io.Discard, web, "-n", "50")
		err := r.do(func(_ context.Context, stop context.CancelCauseFunc) { out.interrupt = stop })
		if f := r.stats.figures(); !errors.Is(err, ErrInterrupted) || f.done != 50 || out.lines != 50 {
			t.Errorf("%v, %d done, %d lines; want 50", err, f.done, out.lines)
		}
	})
}

// slowWriter takes a long time to write the first line; in that time everything ends and an interrupt arrives.
type slowWriter struct {
	interrupt context.CancelCauseFunc
	lines     int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.lines++; w.lines == 1 {
		time.Sleep(time.Minute)
		w.interrupt(errInterrupt)
		time.Sleep(time.Minute)
	}
	return len(p), nil
}

func TestRedirectSecrets(t *testing.T) {
	check := redirects(&Command{Location: true, MaxRedirs: 5})
	request := func(url string) *http.Request {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "secret")
		r.Header.Set("Referer", "secret")
		return r
	}
	tests := []struct {
		chain []string
		keep  bool
	}{
		{[]string{"https://a/1", "https://a/2"}, true},
		{[]string{"https://a/1", "https://a:443/2"}, true},
		{[]string{"https://a/1", "https://b/2"}, false},
		{[]string{"https://a/1", "http://a/2"}, false},
		{[]string{"https://a/1", "http://a:443/2"}, false},
		{[]string{"https://a/1", "https://a:444/2"}, false},
		{[]string{"https://a/1", "https://b/2", "https://a/3"}, false},
		{[]string{"https://a/1", "https://sub.a/2"}, false},
	}
	for _, test := range tests {
		var chain []*http.Request
		for _, url := range test.chain {
			chain = append(chain, request(url))
		}
		last := len(chain) - 1
		if err := check(chain[last], chain[:last:last]); err != nil {
			t.Error(err)
		}
		header := chain[last].Header
		if got := header.Get("Authorization") != ""; got != test.keep || header.Get("Referer") != "" {
			t.Errorf("%v: secret kept %v, want %v; header %v", test.chain, got, test.keep, header)
		}
	}
}
