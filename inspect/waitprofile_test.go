package inspect_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// truth records how long tasks were in each wait, as measured by the tasks themselves.
type truth struct {
	mu    sync.Mutex
	times map[[2]string]time.Duration // by name and wait
}

// in records how long fn took.
func (r *truth) in(name, wait string, fn func() error) error {
	begun := time.Now()
	err := fn()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[[2]string{name, wait}] += time.Since(begun)
	return err
}

// shares returns the shares of the waits of a name.
func (r *truth) shares(name string) map[string]float64 {
	var sum time.Duration
	shares := make(map[string]float64)
	for key, d := range r.times {
		if key[0] == name {
			sum += d
			shares[key[1]] += float64(d)
		}
	}
	for wait := range shares {
		shares[wait] /= float64(sum)
	}
	return shares
}

// The profile of a minute is within five points of what the tasks measure: for many tasks that contend, for one whose waits are long, and for
// tasks that are shorter than the time between two snapshots.
func TestWaitsAreTrue(t *testing.T) {
	testenv.NeedExact(t)
	real := &truth{times: make(map[[2]string]time.Duration)}
	p := waitsDuring(t, 59*time.Second, WatchConfig{Log: quiet}, func(ctx context.Context) error {
		api := NewSemaphore(2)
		for range 12 {
			Go(ctx, func(ctx context.Context) error { return callAPI(ctx, real, api) }, Name("order"))
		}
		Go(ctx, func(ctx context.Context) error { return beat(ctx, real, 3*time.Second, 4*time.Second) }, Name("beat"))
		for {
			Go(ctx, func(ctx context.Context) error { return short(ctx, real) }, Name("short"))
			if err := Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	})
	if p.Window < 58*time.Second || p.Window > 59*time.Second || p.Snapshots < 450 || p.Snapshots > 750 {
		t.Errorf("%d snapshots cover %v, want about 590 over 59 s", p.Snapshots, p.Window)
	}
	checkShares(t, p, real, "order", 0.05)
	checkShares(t, p, real, "beat", 0.05)
	checkShares(t, p, real, "short", 0.05)
}

// Work that repeats as often as snapshots are taken is found in all of its waits. The limit is five standard errors of a share measured by 590
// snapshots of one task.
func TestWaitsOfWorkInARhythm(t *testing.T) {
	real := &truth{times: make(map[[2]string]time.Duration)}
	p := waitsDuring(t, 59*time.Second, WatchConfig{Log: quiet}, func(ctx context.Context) error {
		Go(ctx, func(ctx context.Context) error { return beat(ctx, real, 30*time.Millisecond, 70*time.Millisecond) }, Name("beat"))
		return nil
	})
	checkShares(t, p, real, "beat", 0.1)
}

// waitsDuring runs fn for some time below a watch, in a bubble, and returns its profile.
func waitsDuring(t *testing.T, d time.Duration, c WatchConfig, fn func(ctx context.Context) error) (p WaitProfile) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		watched(t, c, func(ctx context.Context, _ *findings) {
			shop := Go(ctx, fn, Name("shop"))
			_ = Sleep(ctx, d)
			p = Waits()
			shop.Cancel(nil)
			_, _ = shop.Wait(ctx)
		})
	})
	return p
}

// checkShares compares the shares of a name with the truth.
func checkShares(t *testing.T, p WaitProfile, real *truth, name string, within float64) {
	t.Helper()
	found := make(map[string]float64)
	for _, task := range p.Tasks {
		if task.Name == "watched/app/shop/"+name {
			for _, s := range task.Waits {
				found[s.Wait.For] += s.Share
			}
		}
	}
	for wait, want := range real.shares(name) {
		got := found[wait]
		if math.Abs(got-want) > within {
			t.Errorf("%s: %.1f %% %s, want %.1f %%", name, 100*got, wait, 100*want)
		}
		t.Logf("%s: %.1f %% %s, %.1f %% by its own measure", name, 100*got, wait, 100*want)
	}
}

// callAPI waits for its turn at the API, and calls it.
func callAPI(ctx context.Context, real *truth, api *Semaphore) error {
	for {
		if err := real.in("order", "semaphore", func() error { return api.Acquire(ctx, 1) }); err != nil {
			return err
		}
		err := real.in("order", "sleep", func() error { return Sleep(ctx, rand.N(200*time.Millisecond)) })
		api.Release(1)
		if err != nil {
			return err
		}
	}
}

// beat repeats the same two waits at a fixed pace.
func beat(ctx context.Context, real *truth, receives, sleeps time.Duration) error {
	for {
		err := real.in("beat", "receive", func() error { <-time.After(receives); return nil })
		if err == nil {
			err = real.in("beat", "sleep", func() error { return Sleep(ctx, sleeps) })
		}
		if err != nil {
			return err
		}
	}
}

// short runs for 20 ms.
func short(ctx context.Context, real *truth) error {
	_ = real.in("short", "receive", func() error { <-time.After(5 * time.Millisecond); return nil })
	return real.in("short", "sleep", func() error { return Sleep(ctx, 15*time.Millisecond) })
}

// A profile has a thousand names, and a hundred waits of each; the time of further names and waits is included nevertheless.
func TestWaitsAreBounded(t *testing.T) {
	testenv.NeedExact(t)
	p := waitsDuring(t, 10*time.Second, only(CancellationIgnored), func(ctx context.Context) error {
		for i := range 1200 {
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, Name(strconv.Itoa(i)))
		}
		for depth := range 120 {
			Go(ctx, func(ctx context.Context) error { return deep(ctx, depth) }, Name("0"))
		}
		return nil
	})
	if got := len(p.Tasks); got != 1001 {
		t.Errorf("%d names, want 1,000 and other", got)
	}
	var sum time.Duration
	for _, task := range p.Tasks {
		sum += task.Time
		if task.Name == "watched/app/shop/0" {
			count := 0
			for _, s := range task.Waits {
				for range s.Stacks() {
					count++
				}
			}
			if count > 102 || count < 50 {
				t.Errorf("%d stacks of one name", count)
			}
			if task.Time != 121*p.Window {
				t.Errorf("121 tasks had %v in %v", task.Time, p.Window)
			}
		}
	}
	if want := p.Window * (1200 + 120 + 3); sum != want { // and watched, app and shop
		t.Errorf("all tasks had %v, want %v", sum, want)
	}
}

// deep sleeps below the given number of calls.
func deep(ctx context.Context, depth int) error {
	if depth == 0 {
		return Sleep(ctx, time.Hour)
	}
	return deep(ctx, depth-1)
}

// Waits longer than a minute ago are not in the profile, and the profile is empty once the watch has ended.
func TestWaitsOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watched(t, WatchConfig{Log: quiet}, func(ctx context.Context, _ *findings) {
			if got := Waits(); got.Snapshots != 0 || got.Tasks != nil {
				t.Errorf("before the first snapshot: %+v", got)
			}
			Go(ctx, func(ctx context.Context) error {
				_ = Sleep(ctx, time.Minute)
				<-time.After(90 * time.Second)
				return nil
			}, Name("two"))
			_ = Sleep(ctx, 30*time.Second)
			if got := waitsOf(t, "watched/app/two"); got.String() != "watched/app/two: 100 % sleep" {
				t.Errorf("after 30 s: %v", got)
			}
			_ = Sleep(ctx, 100*time.Second)
			got := waitsOf(t, "watched/app/two")
			if got.String() != "watched/app/two: 100 % receive" {
				t.Errorf("after 130 s: %v", got)
			}
			for wait, want := range map[string]time.Duration{"sleep": time.Minute, "receive": 70 * time.Second} {
				if got := got.Totals[wait]; (got - want).Abs() > time.Second {
					t.Errorf("%v %s in total, want %v", got, wait, want)
				}
			}
			_ = Sleep(ctx, 100*time.Second)
			if got := waitsOf(t, "watched/app/two"); got.Name != "" {
				t.Errorf("a minute after it has ended: %v", got)
			}
		})
		if got := Waits(); got.Snapshots != 0 || got.Tasks != nil {
			t.Errorf("after the end of the watch: %+v", got)
		}
	})
}

// waitsOf returns the waits of a name in the profile.
func waitsOf(t *testing.T, name string) TaskWaits {
	t.Helper()
	p := Waits()
	if p.Window < 0 || p.Window > time.Minute+time.Second { // the time between two snapshots may belong to two slots
		t.Errorf("it covers %v", p.Window)
	}
	for _, task := range p.Tasks {
		if task.Name == name {
			return task
		}
	}
	return TaskWaits{}
}

// Waits of one kind at several places, and semaphores with different counts, are merged in the text.
func TestTaskWaitsString(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		watched(t, WatchConfig{Log: quiet}, func(ctx context.Context, _ *findings) {
			api := NewSemaphore(1)
			if err := api.Acquire(ctx, 1); err != nil {
				t.Error(err)
			}
			for range 3 {
				Go(ctx, func(ctx context.Context) error { return api.Acquire(ctx, 1) }, Name("order"))
			}
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, 30*time.Second) }, Name("order"))
			_ = Sleep(ctx, 20*time.Second)
			got := waitsOf(t, "watched/app/order")
			if want := "watched/app/order: 75 % semaphore made at waitprofile_test.go:"; !strings.HasPrefix(got.String(), want) || !strings.HasSuffix(got.String(), ", 25 % sleep") {
				t.Errorf("got %v", got)
			}
			if s := got.Waits[0]; s.Wait.Line == 0 || !strings.HasSuffix(s.Wait.File, "waitprofile_test.go") || !strings.HasSuffix(s.Wait.Call, "(*Semaphore).Acquire") {
				t.Errorf("got %+v", s)
			}
			api.Release(1)
			for range 3 {
				_ = Sleep(ctx, time.Millisecond)
				api.Release(1)
			}
		})
	})
}
