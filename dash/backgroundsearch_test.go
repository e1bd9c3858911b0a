package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A scanned store has to read each job to find some that no index finds, which takes time for each job.
type scanned struct {
	job.Store
	scans  atomic.Int64
	oldest atomic.Int64 // end of a window, in milliseconds since 1970
	each   time.Duration
}

func (s *scanned) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	if len(f.Args) > 0 || f.Error+f.Worker != "" {
		if f.IDs == nil {
			s.scans.Add(1)
		}
		if end := f.CreatedBefore.UnixMilli(); !f.CreatedBefore.IsZero() && (s.oldest.Load() == 0 || end < s.oldest.Load()) {
			s.oldest.Store(end)
		}
		all := f
		all.Args, all.Error, all.Worker, all.Limit = nil, "", "", 1_000_000
		jobs, err := s.Store.List(ctx, all)
		if err != nil {
			return nil, err
		}
		reads := len(jobs)
		if f.IDs != nil { // matching jobs were read before, and cost nothing
			matching, err := meanwhile.Collect(job.List(ctx, s.Store, f))
			if err != nil {
				return nil, err
			}
			reads -= len(matching)
		}
		select {
		case <-time.After(time.Duration(reads) * s.each):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return s.Store.List(ctx, f)
}

// made returns a store with 3,000 jobs, created in five separate minutes of a day. Ten of them have the args {"rare":true},
// spread over all of it.
func made(t *testing.T) *scanned {
	s := &scanned{Store: memory.New(), each: 3 * time.Millisecond}
	for range 10 {
		for range 30 {
			enqueue(t, s, "common", `{"rare":false}`, 10)
			time.Sleep(time.Second)
		}
		enqueue(t, s, "rare", `{"rare":true}`, 1)
		time.Sleep(2 * time.Hour)
	}
	return s
}

// bubble runs a test in a bubble whose time is after that of all previous ones: IDs must not go back in time.
func bubble(t *testing.T, fn func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		last := enqueue(t, memory.New(), "any", `{}`, 1)[0].ID.Time()
		time.Sleep(time.Until(last.Add(time.Hour)))
		fn(t)
	})
}

const rare = "/jobs?args=rare%3Dtrue"

// rows counts the jobs on a page.
func rows(page string) int { return strings.Count(page, "<tr data-id=") }

// storeCache loads a page, and fails the test if that takes noticeably long.
func storeCache(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	begun := time.Now()
	w := get(t, h, path)
	if took := time.Since(begun); took > 100*time.Millisecond || w.Code != http.StatusOK {
		t.Fatalf("the page took %v, with status %d", took, w.Code)
	}
	return w.Body.String()
}

const (
	going = "Searching…"
	tired = "Too much to search"
)

func TestSlowSearchIsThereAtOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := made(t)
		h := dash.New(dash.Config{Store: s})
		if page := storeCache(t, h, rare); !strings.Contains(page, going) || rows(page) == 10 {
			t.Fatalf("%d jobs are found immediately", rows(page))
		}
		r := open(t, h, rare, 0)
		defer r.leave()
		before := 0
		for range 90 {
			time.Sleep(time.Second)
			n := rows(r.page(t)["rows"])
			if n < before {
				t.Errorf("%d jobs are shown after %d", n, before)
			}
			before = n
		}
		if page := r.page(t); rows(page["rows"]) != 10 || strings.Contains(page["scan"], going) {
			t.Errorf("after a minute and a half %d jobs are shown, and %q", rows(page["rows"]), page["scan"])
		}
		storeCache(t, h, rare) // concurrently with the one that continues
	})
}

func TestSlowSearchStaysTrue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := made(t)
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, rare, 0)
		defer r.leave()
		time.Sleep(2 * time.Minute)
		more := enqueue(t, s, "new", `{"rare":true}`, 3)
		time.Sleep(2 * time.Second)
		if n := rows(r.page(t)["rows"]); n != 13 {
			t.Errorf("%d jobs are shown after 3 were made, want 13", n)
		}
		if _, err := job.Apply(t.Context(), s, job.Filter{IDs: []job.ID{more[0].ID}}, job.ActionDelete); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if n := rows(r.page(t)["rows"]); n != 12 {
			t.Errorf("%d jobs are shown after one was deleted, want 12", n)
		}
	})
}

// TestSlowSearchBeginsAgain: a job that starts to match after it was searched is found by the next pass.
func TestSlowSearchBeginsAgain(t *testing.T) {
	testenv.LongTest(t)
	bubble(t, func(t *testing.T) {
		s := made(t)
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, "/jobs?error=broke", 0)
		defer r.leave()
		time.Sleep(2 * time.Minute)
		if n := rows(r.page(t)["rows"]); n != 0 {
			t.Fatalf("%d jobs are shown", n)
		}
		settle(t, s, job.DefaultQueue, func(j *job.Job) {
			j.State = job.Discarded
			j.Failures = []job.Failure{{Attempt: 1, Started: j.Started, Time: time.Now(), Worker: "w", Error: "it broke"}}
		})
		time.Sleep(10 * time.Minute)
		if page := r.page(t); rows(page["rows"]) != 1 || strings.Contains(page["scan"], going) {
			t.Errorf("%d jobs are shown, want the one that failed meanwhile; %q", rows(page["rows"]), page["scan"])
		}
	})
}

func TestNobodyLooksNothingIsSearched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := made(t)
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, rare, 0)
		time.Sleep(3 * time.Second)
		r.leave()
		<-r.ended
		scans := s.scans.Load()
		time.Sleep(time.Minute)
		if n := s.scans.Load() - scans; scans == 0 || n != 0 {
			t.Errorf("the store was searched %d times, and %d times while no page was open", scans, n)
		}
	})
}

// TestSlowSearchEndsWhenThePageIsFull: a full page needs only the newest jobs.
func TestSlowSearchEndsWhenThePageIsFull(t *testing.T) {
	testenv.LongTest(t) // a thousand pages are drawn
	bubble(t, func(t *testing.T) {
		s := made(t)
		begun := time.Now()
		for range 6 {
			enqueue(t, s, "common", `{"rare":true}`, 10)
			time.Sleep(5 * time.Second)
		}
		h := dash.New(dash.Config{Store: s})
		page := storeCache(t, h, rare)
		for range 100 {
			if !strings.Contains(page, going) {
				break
			}
			time.Sleep(time.Second)
			page = storeCache(t, h, rare)
		}
		if rows(page) != 50 || strings.Contains(page, going) {
			t.Errorf("%d jobs are shown after %d scans", rows(page), s.scans.Load())
		}
		if oldest := time.UnixMilli(s.oldest.Load()); oldest.Before(begun) {
			t.Errorf("searched before %v, although no job before %v is needed", oldest, begun)
		}
		if !strings.Contains(page, "before=") {
			t.Fatal("the page has no link to the next one")
		}
		older := page[strings.Index(page, "before="):]
		older, _, _ = strings.Cut(older, "\"")
		page = storeCache(t, h, rare+"&"+older)
		for range 1000 {
			if !strings.Contains(page, going) {
				break
			}
			time.Sleep(time.Second)
			page = storeCache(t, h, rare+"&"+older)
		}
		if rows(page) != 20 {
			t.Errorf("the next page has %d jobs, want 20", rows(page))
		}
	})
}

func TestSearchThatTakesTooLongSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scanned{Store: memory.New(), each: time.Second}
		enqueue(t, s, "common", `{"rare":false}`, 5)
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, rare, 0)
		defer r.leave()
		time.Sleep(time.Minute)
		if page := r.page(t); !strings.Contains(page["scan"], tired) {
			t.Errorf("the page says %q", page["scan"])
		}
	})
}

// TestSlowSearchOfOneMoment: a browser without scripts searches only for a moment per load, and still makes progress where very
// many jobs were created in one millisecond.
func TestSlowSearchOfOneMoment(t *testing.T) {
	testenv.LongTest(t)
	bubble(t, func(t *testing.T) {
		s := &scanned{Store: memory.New(), each: 3 * time.Millisecond}
		enqueue(t, s, "older", `{"rare":true}`, 1)
		time.Sleep(time.Minute)
		enqueue(t, s, "first", `{"rare":true}`, 1)
		for range 20 {
			enqueue(t, s, "common", `{"rare":false}`, 100)
		}
		if jobs, err := s.Store.List(t.Context(), job.Filter{CreatedAfter: time.Now().Truncate(time.Millisecond), Limit: 10_000}); err != nil || len(jobs) != 2001 {
			t.Fatalf("%d jobs in a millisecond, %v", len(jobs), err)
		}
		time.Sleep(time.Minute)
		h := dash.New(dash.Config{Store: s})
		page, reads := storeCache(t, h, rare), 1
		for ; reads < 1000 && strings.Contains(page, going); reads++ {
			page = storeCache(t, h, rare)
		}
		if rows(page) != 2 || strings.Contains(page, going) || strings.Contains(page, tired) {
			t.Errorf("%d jobs are shown after %d loads", rows(page), reads)
		}
	})
}

func TestManySlowSearches(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: made(t)})
		for i := range 100 {
			storeCache(t, h, fmt.Sprintf("/jobs?args=user%%3D%d", i))
		}
	})
}
