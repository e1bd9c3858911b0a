package job_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestUnitsLaws compares units with a naive bucket, which is filled evenly and may be in debt: a caller that starts while any unit is left uses no
// more than the rate allows, and the time that Next returns is the first at which one may start.
func TestUnitsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := job.Rate{
			N: rapid.IntRange(100, 1e6).Draw(t, "n"), Per: time.Duration(rapid.Int64Range(1000, 3600_000_000).Draw(t, "per in µs")) * time.Microsecond,
			Burst: rapid.IntRange(0, 1e6).Draw(t, "burst"),
		}
		if job.CheckLimits("q", job.Limits{Units: r}) != nil {
			t.Skip("no rate of units")
		}
		burst, perMicro := float64(max(r.Burst, 1)), float64(r.N)/float64(r.Per/time.Microsecond)
		now, full, bucket := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}, burst
		early := 0.0 // what late starts may have gained, and rounding may have lost
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := rapid.IntRange(0, 1e5).Draw(t, "units")
			if rapid.IntRange(0, 4).Draw(t, "give back") == 0 {
				n = -n / 2
			}
			if n > 0 && bucket >= burst {
				early = max(early, min(float64(n)/2, 50_000*perMicro))
			}
			full, bucket = r.Charge(full, now, n), min(bucket-float64(n), burst)
			early += perMicro // times are rounded up to whole microseconds
			if left := burst - max(float64(full.Sub(now)/time.Microsecond), 0)*perMicro; math.Abs(left-bucket) > early+1e-6*math.Abs(left)+2 {
				t.Fatalf("after %d units %f are left, want %f, and %f more or less", n, left, bucket, early)
			}
			next := r.Next(full, now)
			if r.Left(full, next) < 1 || next.After(now) && r.Left(full, next.Add(-time.Microsecond)) > 0 {
				t.Fatalf("next in %v: then %d are left, before it %d", next.Sub(now), r.Left(full, next), r.Left(full, next.Add(-time.Microsecond)))
			}
			pause := time.Duration(rapid.Int64Range(0, int64(r.Per/time.Microsecond)).Draw(t, "pause in µs")) * time.Microsecond
			if rapid.Bool().Draw(t, "until next") {
				pause = next.Sub(now)
			}
			now, bucket = now.Add(pause), min(bucket+float64(pause/time.Microsecond)*perMicro, burst)
		}
	})
}

// TestUnitsOfALargeJob: a debt ends after ten years at most, whatever the numbers are.
func TestUnitsOfALargeJob(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := job.Rate{N: 1, Per: 366 * 24 * time.Hour}
	full := r.Charge(now, now, job.MaxCost)
	if again := r.Charge(full, now, job.MaxCost); again != full || full != now.AddDate(0, 0, 3650) {
		t.Errorf("the debt ends at %v, and then at %v", full, again)
	}
}

// unitsRun runs jobs of a queue with 100 units an hour, one after the other, and returns when each started.
func unitsRun(t *testing.T, jobs int, cost int, handle func(ctx context.Context, n int) error) (began []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), memory.New()
		if err := s.SetLimits(ctx, "models", job.Limits{Units: job.Rate{N: 100, Per: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		kind := job.Define[int]("k", job.Queue("models"), job.Cost(cost))
		for i := range jobs {
			if _, err := kind.Enqueue(ctx, s, i); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(ctx)
		start, ended := time.Now(), 0
		worker := job.NewWorker(s, job.Config{Queues: []job.QueueConfig{{Name: "models", Concurrency: 1}}}, kind.Handle(func(ctx context.Context, n int) error {
			began = append(began, time.Since(start).Round(time.Second))
			err := handle(ctx, n)
			if ended++; ended == jobs {
				stop()
			}
			return err
		}))
		if err := worker.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return began
}

// TestSpend: the jobs after one that has spent more than its cost wait longer; after one that has spent less, they wait less.
func TestSpend(t *testing.T) {
	t.Parallel()
	minutes := func(n ...time.Duration) (want []time.Duration) {
		for _, n := range n {
			want = append(want, n*time.Minute)
		}
		return want
	}
	for name, test := range map[string]struct {
		spend []int
		want  []time.Duration
	}{
		"the cost":         {nil, minutes(0, 30, 60)},
		"more, in parts":   {[]int{60, 40}, minutes(0, 60, 120)},
		"less":             {[]int{10}, minutes(0, 6, 12)},
		"nothing":          {[]int{0}, minutes(0, 0, 0)},
		"less than enough": {[]int{10, 20}, minutes(0, 18, 36)},
	} {
		got := unitsRun(t, 3, 50, func(ctx context.Context, _ int) error {
			for _, n := range test.spend {
				if err := job.Spend(ctx, n); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		for i, at := range got {
			if (at - test.want[i]).Abs() > 10*time.Second {
				t.Errorf("%s: the jobs started after %v, want %v", name, got, test.want)
				break
			}
		}
	}
}

// TestSpendIsChecked: a value out of range changes nothing, and the error says what to give.
func TestSpendIsChecked(t *testing.T) {
	if err := job.Spend(t.Context(), 5); err != nil {
		t.Errorf("without a job: %v", err)
	}
	unitsRun(t, 1, 5, func(ctx context.Context, _ int) error {
		for n, want := range map[int]string{
			-1: "spend -1 units: give from 0 to 1000000000", job.MaxCost + 1: "spend 1000000001 units: give from 0 to 1000000000", 7: "",
		} {
			if err := job.Spend(ctx, n); errorText(err) != want {
				t.Errorf("%d: %v, want %q", n, err, want)
			}
		}
		if err := job.Spend(ctx, job.MaxCost); err == nil || !strings.Contains(err.Error(), "spend 1000000007 units in one attempt: at most 1000000000 are counted; use a larger unit") {
			t.Errorf("too many in all: %v", err)
		}
		return nil
	})
	for _, n := range []int{-1, job.MaxCost + 1} {
		if _, err := job.New("k", []byte("1"), job.Cost(n)); err == nil || !strings.Contains(err.Error(), "units: give from 0 to 1000000000, or use a larger unit") {
			t.Errorf("a cost of %d: %v", n, err)
		}
	}
}

// A settler records the outcomes that it is given, and succeeds.
type settler struct{ outcomes []job.Outcome }

func (s *settler) Settle(_ context.Context, _ job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	s.outcomes = append(s.outcomes, outcomes...)
	return nil, nil
}

// TestSpendInATransaction: what was spent before the handler calls Complete is booked in its transaction.
func TestSpendInATransaction(t *testing.T) {
	var tx settler
	unitsRun(t, 1, 50, func(ctx context.Context, _ int) error {
		if err := job.Spend(ctx, 70); err != nil {
			return err
		}
		return job.Complete(ctx, &tx)
	})
	if len(tx.outcomes) != 1 || tx.outcomes[0].Units != 20 {
		t.Errorf("settled %+v, want 20 units more", tx.outcomes)
	}
}
