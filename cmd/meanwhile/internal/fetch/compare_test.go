package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// newTestComparison returns the comparison of a command line, with web instead of the network.
func newTestComparison(t *testing.T, in string, out, notes io.Writer, web roundTripper, args ...string) *comparison {
	t.Helper()
	var c Command
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	cmp, err := newComparison(&c, Streams{In: strings.NewReader(in), Out: out, Err: notes})
	if err != nil {
		t.Fatal(err)
	}
	cmp.transport = web
	return cmp
}

func urls(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "http://a/%d\n", i)
	}
	return b.String()
}

// busyWeb answers in 100 ms for up to eight concurrent requests, and takes longer if there are more.
func busyWeb(at *atomic.Int32) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		now := at.Add(1)
		defer at.Add(-1)
		time.Sleep(100 * time.Millisecond * time.Duration(max(now, 8)) / 8 * time.Duration(max(now, 8)) / 8)
		if now > 20 {
			return answer(r, 503), nil
		}
		return answer(r, 200), nil
	}
}

func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int32
		var out, notes bytes.Buffer
		c := newTestComparison(t, urls(64)+"http://\n", &out, &notes, busyWeb(&at), "--compare=1,4,8,32", "--from=-")
		if err := errors.Join(c.run(t.Context()), c.print()); err != nil {
			t.Fatal(err)
		}
		t.Log(out.String())
		rows := strings.Split(out.String(), "\n")
		for i, want := range []string{"at once", "1 6.40s 10 1 ", "4 1.60s 40 4.0 (4.0 to 4.0) ", "8 800ms 80 8.0 (8.0 to 8.0) "} {
			if got := strings.Join(strings.Fields(rows[i]), " "); !strings.HasPrefix(got+" ", want) {
				t.Errorf("row %d is %q, want %q", i, got, want)
			}
			if len(rows[i]) > 80 {
				t.Errorf("row %d has %d columns", i, len(rows[i]))
			}
		}
		for _, want := range []string{"\n8 at once is enough: none of these is more than 10 % faster.\n", "More gets slower: 32 at once takes ", "With 32 at once ", "1 line of the input without a URL left out."} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("there is no %q in\n%s", want, &out)
			}
		}
		if got := strings.Count(notes.String(), "\n"); got != 12 || !strings.Contains(notes.String(), "round 3 of 3, 1 at once: 6.40s\n") {
			t.Errorf("got %d notes:\n%s", got, &notes)
		}
	})
}

// TestCompareWithoutProgress: --no-progress leaves out the time of each run, and --silent does, too.
func TestCompareWithoutProgress(t *testing.T) {
	for _, flag := range []string{"--no-progress", "--silent"} {
		synctest.Test(t, func(t *testing.T) {
			var at atomic.Int32
			var out, notes bytes.Buffer
			c := newTestComparison(t, urls(4), &out, &notes, busyWeb(&at), "--compare=1,4", "--from=-", flag)
			if err := errors.Join(c.run(t.Context()), c.print()); err != nil {
				t.Fatal(err)
			}
			if notes.Len() > 0 || out.Len() == 0 {
				t.Errorf("%s: notes %q and results %q", flag, &notes, &out)
			}
		})
	}
}

func TestCompareJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int32
		var out bytes.Buffer
		c := newTestComparison(t, urls(16), &out, io.Discard, busyWeb(&at), "--compare=1,auto", "--max=16", "--rounds=2", "--json")
		if err := errors.Join(c.run(t.Context()), c.print()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var first, auto comparedJSON
		if err := errors.Join(json.Unmarshal([]byte(lines[0]), &first), json.Unmarshal([]byte(lines[1]), &auto)); err != nil || len(lines) != 2 {
			t.Fatalf("%v: %s", err, &out)
		}
		if first.Limit != "1" || first.Seconds != 1.6 || first.PerSecond != 10 || first.Done != 32 || first.Failed != 0 || first.Times != [3]float64{1, 1, 1} {
			t.Errorf("got %+v", first)
		}
		if auto.Limit != "auto" || auto.LimitEnd < 4 || auto.Rounds != 2 || auto.Times[0] < 2 {
			t.Errorf("got %+v", auto)
		}
	})
}

// TestCompareInterrupted: an interrupt leaves the complete rounds, and nothing of the incomplete one.
func TestCompareInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int32
		var out bytes.Buffer
		c := newTestComparison(t, urls(8), &out, io.Discard, busyWeb(&at), "--compare=1,8", "--rounds=50")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a round takes 0.9 s
		defer cancel()
		if err := c.run(ctx); err == nil {
			t.Error("the comparison was not interrupted")
		}
		if err := c.print(); err != nil {
			t.Error(err)
		}
		if c.rounds != 2 || c.variants[0].done != 16 || c.variants[1].done != 16 || !strings.Contains(out.String(), "Fewer than 3 rounds") {
			t.Errorf("%d rounds, %d and %d done:\n%s", c.rounds, c.variants[0].done, c.variants[1].done, &out)
		}
	})
}

// TestCompareInterruptedInTheFirstRound: after an interrupt in the first round there is no table, but a line that says why.
func TestCompareInterruptedInTheFirstRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int32
		var out, notes bytes.Buffer
		c := newTestComparison(t, urls(8), &out, &notes, busyWeb(&at), "--compare=1,8")
		ctx, cancel := context.WithTimeout(t.Context(), 850*time.Millisecond) // a round takes 0.9 s
		defer cancel()
		if err := c.run(ctx); err == nil {
			t.Error("the comparison was not interrupted")
		}
		if err := c.print(); err != nil {
			t.Error(err)
		}
		if got := notes.String(); out.Len() > 0 || !strings.HasSuffix(got, "Interrupted in the first round: there is nothing to compare.\n") {
			t.Errorf("got %q and %q", &out, got)
		}
	})
}

// TestCompareInterruptedAtTheEnd: an interrupt may come when the last transfer ends.
func TestCompareInterruptedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range testenv.Rounds(60, 300) {
			var at atomic.Int32
			c := newTestComparison(t, urls(1), io.Discard, io.Discard, busyWeb(&at), "--compare=1,8")
			ctx, cancel := context.WithCancel(t.Context())
			interrupted := time.AfterFunc(100*time.Millisecond, cancel) // the duration of a transfer
			if _, err := c.runOne(ctx, limit{n: 1}); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			interrupted.Stop()
			cancel()
			synctest.Wait()
		}
	})
}

func TestCompareRefuses(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--compare=8 http://a/", "--compare: give from 2 to 20 limits, such as 1,8,64,auto"},
		{"--compare=8,8 http://a/", "--compare: 8 is given twice"},
		{"--compare=8,9 --out=x http://a/", "--compare and --out: choose one"},
		{"--compare=8,9 --rounds=0 http://a/", "--rounds 0: give from 1 to 100"},
		{"--compare=8,9", "--compare: there is no URL to fetch"},
	} {
		var c Command
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		err = c.Run(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.args, err, test.want)
		}
	}
}

// TestCompareFailures: a limit with which requests fail immediately is not the fastest, and if all fail, none is.
func TestCompareFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int32
		refusing := func(most int32) roundTripper {
			return func(r *http.Request) (*http.Response, error) {
				now := at.Add(1)
				defer at.Add(-1)
				if now > most {
					return answer(r, 503), nil
				}
				time.Sleep(100 * time.Millisecond)
				return answer(r, 200), nil
			}
		}
		for _, test := range []struct {
			most int32
			want string
		}{{4, "4 at once is enough"}, {0, "Every request failed, so there is nothing to compare"}} {
			var out bytes.Buffer
			c := newTestComparison(t, urls(32), &out, io.Discard, refusing(test.most), "--compare=1,4,32", "--from=-")
			if err := errors.Join(c.run(t.Context()), c.print()); err != nil {
				t.Fatal(err)
			}
			if !c.failed() || !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), "fastest") {
				t.Errorf("failed: %t; there is no %q in\n%s", c.failed(), test.want, &out)
			}
		}
	})
}
