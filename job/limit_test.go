package job_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestRateLaws: however often the rate is asked, in any period as many may start as the rate allows and no more, and the time that Next returns is
// the first at which one may.
func TestRateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := job.Rate{
			N: rapid.IntRange(1, 5000).Draw(t, "n"), Per: time.Duration(rapid.Int64Range(500_000, 86400_000_000).Draw(t, "per in µs")) * time.Microsecond,
			Burst: rapid.IntRange(0, 100).Draw(t, "burst"),
		}
		if err := job.CheckLimits("q", job.Limits{Starts: r}); err != nil {
			t.Skip(err)
		}
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now, full, started := begin, time.Time{}, 0
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			left := r.Left(full, now)
			if burst := max(r.Burst, 1); left < 0 || left > burst {
				t.Fatalf("Left = %d, with a burst of %d", left, burst)
			}
			if n := rapid.IntRange(0, left).Draw(t, "start"); n > 0 {
				full = r.Take(full, now, n)
				started += n
				// Times are rounded up to whole microseconds.
				if got := r.Left(full, now); got != left-n && got != max(left-n-1, 0) {
					t.Fatalf("%d of %d started, then Left = %d", n, left, got)
				}
			}
			most := float64(max(r.Burst, 1)) + float64(now.Sub(begin)+time.Microsecond)/float64(r.Per)*float64(r.N) + 0.5 // the last may come early
			if float64(started) > most+1e-6 {
				t.Fatalf("%d started in %v, more than %.3f", started, now.Sub(begin), most)
			}
			next := r.Next(full, now)
			if r.Left(full, next) < 1 || next.After(now) && r.Left(full, next.Add(-time.Microsecond)) > 0 {
				t.Fatalf("next in %v: then %d may start, before it %d", next.Sub(now), r.Left(full, next), r.Left(full, next.Add(-time.Microsecond)))
			}
			switch rapid.IntRange(0, 2).Draw(t, "until") {
			case 0:
				now = next
			case 1: // less than a microsecond before as many as Burst may start
				if before := full.Add(-time.Duration(rapid.Int64Range(1, 999).Draw(t, "before"))); before.After(now) {
					now = before
				}
			case 2:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(r.Per)).Draw(t, "pause")))
			}
		}
	})
}

// TestRateIsReached: a caller that starts jobs soon after it may, reaches the rate within two per cent in a minute.
func TestRateIsReached(t *testing.T) {
	late := rand.New(rand.NewPCG(1, 2))
	for _, r := range []job.Rate{{N: 500, Per: time.Minute}, {N: 24, Per: time.Second}, {N: 7, Per: time.Second, Burst: 3}, {N: 90_000, Per: time.Minute, Burst: 100}} {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		full, started := begin, 0
		for now := begin; now.Before(begin.Add(time.Minute)); now = r.Next(full, now).Add(time.Duration(late.IntN(15_000)) * time.Microsecond) {
			n := r.Left(full, now)
			full = r.Take(full, now, n)
			started += n
		}
		if want := float64(r.N) * float64(time.Minute) / float64(r.Per); math.Abs(float64(started)-want) > 0.02*want {
			t.Errorf("%v: %d started in a minute, want %.0f", r, started, want)
		}
	}
}

// TestOfKey: the settings of EachKey that apply to all keys also apply to a key with its own limits.
func TestOfKey(t *testing.T) {
	limits := job.Limits{EachKey: job.KeyLimits{Weight: 2, InOrder: true, HoldOnDiscard: true}}
	if got := limits.OfKey(job.KeyLimits{}); got != limits.EachKey {
		t.Errorf("without its own limits: %+v", got)
	}
	want := job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Minute}, InOrder: true, HoldOnDiscard: true}
	if got := limits.OfKey(job.KeyLimits{Starts: want.Starts}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckLimits(t *testing.T) {
	tests := []struct {
		limits job.Limits
		want   string
	}{
		{job.Limits{}, ""},
		{job.Limits{Running: 1, Starts: job.Rate{N: 1, Per: time.Second}, EachKey: job.KeyLimits{Running: 2, Starts: job.Rate{N: 2, Per: time.Hour, Burst: 9}}}, ""},
		{job.Limits{Units: job.Rate{N: 1e9, Per: time.Second, Burst: 1e9}, EachKey: job.KeyLimits{Units: job.Rate{N: 5, Per: time.Hour}}}, ""},
		{job.Limits{Units: job.Rate{N: 1e9 + 1, Per: time.Second}}, "units: a rate of 1000000001: give from 1 to 1000000000, or no rate for no bound"},
		{job.Limits{EachKey: job.KeyLimits{Units: job.Rate{N: 5}}}, "units of each key: a rate of 5 per 0s: give a time up to a year"},
		{job.Limits{Running: -1}, "running: -1 jobs at once: give from 1 to 1000000, or 0 for no bound"},
		{job.Limits{EachKey: job.KeyLimits{Running: 2e6}}, "running of each key: 2000000 jobs at once: give from 1 to 1000000, or 0 for no bound"},
		{job.Limits{Starts: job.Rate{Per: time.Second}}, "starts: a rate of 0: give from 1 to 1000000, or no rate for no bound"},
		{job.Limits{Starts: job.Rate{N: 5}}, "starts: a rate of 5 per 0s: give a time up to a year"},
		{job.Limits{Starts: job.Rate{N: 5, Per: time.Second, Burst: -1}}, "starts: a burst of -1: give from 1 to 1000000, or 0 for 1"},
		{job.Limits{EachKey: job.KeyLimits{Starts: job.Rate{N: 1, Per: 24 * time.Hour, Burst: 1e6}}}, "starts of each key: a burst of 1000000 at 1 per 24h0m0s, which takes more than ten years to come back: give a smaller one"},
		{job.Limits{Starts: job.Rate{N: 5000, Per: time.Millisecond}}, "starts: a rate of 5000 per 1ms: give at most 10000 per second, or no rate for no bound"},
	}
	for _, test := range tests {
		err := job.CheckLimits("q", test.limits)
		if got := errorText(err); got != test.want {
			t.Errorf("%+v: %q, want %q", test.limits, got, test.want)
		}
	}
	of := func(l job.KeyLimits) error { return job.CheckKeyLimits("q", "tenant-7", l) }
	for _, test := range []struct {
		err  error
		want string
	}{
		{of(job.KeyLimits{}), ""},
		{of(job.KeyLimits{Running: 9, Starts: job.Rate{N: 1, Per: time.Second}, Units: job.Rate{N: 1, Per: time.Second}, Weight: 1000}), ""},
		{of(job.KeyLimits{Running: -1}), "running of key tenant-7: -1 jobs at once: give from 1 to 1000000, or 0 for no bound"},
		{of(job.KeyLimits{Starts: job.Rate{N: 5}}), "starts of key tenant-7: a rate of 5 per 0s: give a time up to a year"},
		{of(job.KeyLimits{Units: job.Rate{N: -5}}), "units of key tenant-7: a rate of -5: give from 1 to 1000000000, or no rate for no bound"},
		{of(job.KeyLimits{Weight: 1001}), "weight of key tenant-7: 1001 jobs in a turn: give from 1 to 1000, or 0 for 1"},
		{of(job.KeyLimits{InOrder: true}), "in order: the jobs of one key alone cannot run in order: set it for each key of the queue, and leave it out here"},
		{of(job.KeyLimits{HoldOnDiscard: true}), "hold on discard: set it for each key of the queue, as in order, and leave it out here"},
		{job.CheckKeyLimits("q", "", job.KeyLimits{}), "the limit key is empty: name the one that is to have limits of its own"},
		{job.CheckKeyLimits("q", "a\nb", job.KeyLimits{}), `the limit key is not UTF-8 or has a control character in it: "a\nb"`},
		{job.CheckKeyLimits("", "a", job.KeyLimits{}), "the name of the queue is empty"},
		{job.CheckLimits("q", job.Limits{EachKey: job.KeyLimits{Weight: -1}}), "weight of each key: -1 jobs in a turn: give from 1 to 1000, or 0 for 1"},
	} {
		if got := errorText(test.err); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got, want := fmt.Sprint(job.ErrOverrides), fmt.Sprint(job.MaxOverrides); !strings.Contains(got, want) {
		t.Errorf("%q does not contain %s", got, want)
	}
	if err := job.CheckLimits("a b", job.Limits{}); err == nil || !strings.Contains(err.Error(), `the name of the queue has a space`) {
		t.Errorf("a queue with a space in its name: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLimitsString(t *testing.T) {
	each := job.KeyLimits{Running: 4, Starts: job.Rate{N: 60, Per: time.Minute}, Units: job.Rate{N: 9, Per: time.Second}, Weight: 3}
	for want, l := range map[string]fmt.Stringer{
		"no limits": job.Limits{}, "4 run at once, 60 per minute start, 9 units per second, weight 3": each,
		"200 run at once, 4 of each key run at once, 60 per minute of each key start, 9 units per second of each key, weight 3 of each key": job.Limits{Running: 200, EachKey: each},
		"those of each key run in order": job.Limits{EachKey: job.KeyLimits{InOrder: true}},
	} {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRateString(t *testing.T) {
	for want, r := range map[string]job.Rate{
		"no bound": {}, "500 per minute, 50 at once": {N: 500, Per: time.Minute, Burst: 50}, "1 per second": {N: 1, Per: time.Second, Burst: 1},
		"3 per 1m30s": {N: 3, Per: 90 * time.Second},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLimitKeyIsChecked(t *testing.T) {
	for key, want := range map[string]string{
		strings.Repeat("x", 256): "the limit key has 256 bytes, at most 255 are allowed", "a\nb": `control character in it: "a\nb"`, "\xff": "is not UTF-8",
	} {
		if _, err := job.New("k", []byte("1"), job.LimitKey(key)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key %.20q: %v, want %q", key, err, want)
		}
	}
}
