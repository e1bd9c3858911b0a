package metrics_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

var fromStore = []string{"meanwhile_jobs", "meanwhile_queue_depth", "meanwhile_queue_oldest_due_seconds", "meanwhile_queue_work_seconds", "meanwhile_queue_paused"}

// TestTroubledStore scrapes while the store does not answer: the metrics that do not need the store are returned within two seconds.
func TestTroubledStore(t *testing.T) {
	tests := []struct {
		name string
		mode int32
		took time.Duration
	}{
		{"refuses", refuses, 0},
		{"waits until the deadline", waits, 2 * time.Second},
		{"ignores the deadline", stalls, 2 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &troubled{Store: memory.New()}
				defer store.Close()
				enqueue(t, store, job.Define[note]("mail"))
				m := metrics.New(metrics.Config{Store: store})
				store.mode.Store(test.mode)
				for i, took := range []time.Duration{test.took, 0} { // the second time, the store is not asked
					begun := time.Now()
					got := gather(t, m)
					if elapsed := time.Since(begun); elapsed != took {
						t.Errorf("scrape %d took %v, want %v", i+1, elapsed, took)
					}
					want(t, got, map[string]float64{
						`meanwhile_store_up`:                          0,
						`meanwhile_store_errors_total{call="counts"}`: 1,
						`meanwhile_store_errors_total{call="claim"}`:  0,
					})
					absent(t, got, fromStore...)
				}
				store.mode.Store(answers)
				time.Sleep(2 * stallTime)
				want(t, gather(t, m), map[string]float64{`meanwhile_store_up`: 1, `meanwhile_queue_depth{queue="default"}`: 1})
			})
		})
	}
}

// TestStalledStoreIsAskedOnce: while a call does not return, the store is not asked again.
func TestStalledStoreIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store})
		store.mode.Store(stalls)
		for range 10 {
			gather(t, m)
			time.Sleep(time.Minute)
		}
		if asked := store.asked.Load(); asked != 1 {
			t.Errorf("the store was asked %d times, want once", asked)
		}
		want(t, gather(t, m), map[string]float64{`meanwhile_store_errors_total{call="counts"}`: 11})
		store.mode.Store(answers)
		time.Sleep(stallTime)
		want(t, gather(t, m), map[string]float64{`meanwhile_store_up`: 1})
	})
}

// TestInterval runs many concurrent scrapes for a minute.
func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		defer store.Close()
		m := metrics.New(metrics.Config{Store: store, Interval: 10 * time.Second})
		var scrapers sync.WaitGroup
		for range 20 {
			scrapers.Go(func() {
				for range 60 {
					gather(t, m)
					time.Sleep(time.Second)
				}
			})
		}
		scrapers.Wait()
		if asked := store.asked.Load(); asked != 6 {
			t.Errorf("the store was asked %d times within a minute, want 6", asked)
		}
	})
}

func TestStoreErrorsOfAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		defer store.Close()
		m := metrics.New(metrics.Config{})
		stop := work(t, m, store, job.Config{})
		time.Sleep(time.Second)
		store.mode.Store(refuses)
		time.Sleep(10 * time.Second)
		got := gather(t, m)
		if n := got[`meanwhile_store_errors_total{call="claim"}`]; n < 2 {
			t.Errorf("%v claims failed, want some: got %v", n, slices.Sorted(maps.Keys(got)))
		}
		if age := got["meanwhile_claim_age_seconds"]; age < 9 || age > 11 {
			t.Errorf("the claim loop stands still for %v s, want about 10", age)
		}
		for name := range got {
			if strings.Contains(name, "refused") {
				t.Errorf("an error is in a label: %s", name)
			}
		}
		store.mode.Store(answers)
		stop()
	})
}
