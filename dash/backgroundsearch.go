package dash

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// Limits of background searches.
const (
	firstSearchTime = 30 * time.Millisecond  // search time while a page is loaded
	liveSearchTime  = 700 * time.Millisecond // search time in each update of a live page
	mostWindow      = 200 * time.Millisecond // search time of a window before it is made smaller
	maxSearches     = 64
	searchKept      = time.Minute // how long a search is kept after a page has shown it
	searchRest      = 10          // a finished search restarts after this multiple of the time it took
	mostWidth       = 100 * 365 * 24 * time.Hour
	skew            = 2 * time.Second // maximum difference between the clocks of processes that create jobs
	firstPart       = 256             // jobs in the first part of a millisecond
	mostPart        = 1024
)

// A backgroundSearch searches for jobs that no index finds, such as by their args. It goes back in time, window by window. It runs only while it is
// shown: each load and each update of a page continues it for a while, and it keeps what it has found. So a page loads immediately, and fills up
// while it is open.
type backgroundSearch struct {
	turn chan struct{} // holds one value: the right to continue the search
	used time.Time     // guarded by the mutex of the searches

	mu     sync.Mutex
	found  []job.ID  // jobs that matched in this pass, the newest first
	before []job.ID  // and in the previous one, until this pass is over
	down   time.Time // jobs created since then were searched in this pass; zero before its start
	whole  bool      // a pass was completed: a page has all it needs
	late   bool      // the pass was given up, since a search of single jobs took too long

	// Used by the holder of the turn.
	width  time.Duration // of the next window
	growth time.Duration // factor by which width grows: large at first, to skip long times without jobs
	part   int           // jobs in the next part, when one millisecond is too much for a window; zero otherwise
	within job.ID        // the job down to which that millisecond was searched; zero if not started
	top    time.Time     // time up to which jobs newer than the pass were searched
	begun  time.Time     // start of the pass
	took   time.Duration
	over   bool // the pass is over
}

// backgroundSearches are the background searches of open pages, by their query.
type backgroundSearches struct {
	mu       sync.Mutex
	bySearch map[string]*backgroundSearch
}

// get returns the background search of a query.
func (s *backgroundSearches) get(key string) *backgroundSearch {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	oldest := ""
	for other, h := range s.bySearch {
		if now.Sub(h.used) > searchKept {
			delete(s.bySearch, other)
		} else if oldest == "" || h.used.Before(s.bySearch[oldest].used) {
			oldest = other
		}
	}
	h := s.bySearch[key]
	if h == nil {
		if len(s.bySearch) >= maxSearches {
			delete(s.bySearch, oldest)
		}
		if s.bySearch == nil {
			s.bySearch = map[string]*backgroundSearch{}
		}
		h = &backgroundSearch{turn: make(chan struct{}, 1), over: true}
		h.turn <- struct{}{}
		s.bySearch[key] = h
	}
	h.used = now
	return h
}

// searchProgress is the state of a background search for a page.
type searchProgress struct {
	Jobs  []*job.Job
	Going bool      // there may be more, the search is not complete
	Since time.Time // jobs created since then were searched; zero for none
	Late  bool      // there may be more, the search has stopped
}

// continueSearch continues a search for some time, and returns what it has found so far.
func (h *handler) continueSearch(ctx context.Context, s *search, f job.Filter, live bool) (searchProgress, error) {
	most := firstSearchTime
	if live {
		most = liveSearchTime
	}
	key := *s
	key.Sort = ""
	t := h.searches.get(key.Values().Encode())
	limited, cancel := context.WithTimeoutCause(ctx, most, errLate)
	defer cancel()
	select {
	case <-t.turn:
		if err := t.goOn(limited, h, f); err != nil {
			return searchProgress{}, err
		}
	case <-limited.Done(): // another request is continuing it
	}
	return t.now(ctx, h, f)
}

// now returns the jobs that were found and still match.
func (t *backgroundSearch) now(ctx context.Context, h *handler, f job.Filter) (searchProgress, error) {
	t.mu.Lock()
	is := searchProgress{Going: !t.whole, Since: t.down, Late: t.late}
	f.IDs = newest(f.Limit, t.found, t.before)
	t.mu.Unlock()
	if len(f.IDs) == 0 {
		return is, nil
	}
	var err error
	is.Jobs, err = meanwhile.Collect(h.list(ctx, f))
	return is, err
}

// newest merges two lists and returns the newest IDs, at most most of them.
func newest(most int, a, b []job.ID) []job.ID {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b job.ID) int { return bytes.Compare(b[:], a[:]) })
	all = slices.Compact(all)
	return all[:min(len(all), most)]
}

// goOn searches until ctx ends or there is nothing left to search, and then releases the turn.
func (t *backgroundSearch) goOn(ctx context.Context, h *handler, f job.Filter) error {
	from := time.Now()
	defer func() {
		t.took += time.Since(from)
		t.turn <- struct{}{}
	}()
	if t.over && time.Since(t.begun) > searchRest*t.took {
		t.restart(from)
	} else if err := t.news(ctx, h, f); err != nil {
		return err
	}
	for !t.over && ctx.Err() == nil {
		if err := t.step(ctx, h, f); err != nil {
			return err
		}
	}
	return nil
}

// news searches jobs that are newer than the pass, for a part of the time. If that was too short, the next call tries again.
func (t *backgroundSearch) news(ctx context.Context, h *handler, f job.Filter) error {
	if f.Before != (job.ID{}) {
		return nil
	}
	if since := t.top.Add(-skew); since.After(f.CreatedAfter) {
		f.CreatedAfter = since
	}
	now := time.Now()
	deadline, _ := ctx.Deadline()
	part, cancel := context.WithTimeoutCause(ctx, deadline.Sub(now)/3, errLate)
	defer cancel()
	done, err := t.window(part, h, f)
	if done {
		t.top = now
	}
	return err
}

// restart starts a new pass. The jobs that the previous one has found are kept until it ends.
func (t *backgroundSearch) restart(now time.Time) {
	t.width, t.growth, t.top, t.begun, t.took, t.over = time.Second, 8, now, now, 0, false
	t.part, t.within = 0, job.ID{}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down, t.found, t.before = time.Time{}, nil, t.found
}

// end ends a pass.
func (t *backgroundSearch) end(late bool) {
	t.over = true
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole, t.late, t.before = true, late, nil
}

// step searches the next window. The first window has no upper bound, and the last one no lower bound.
func (t *backgroundSearch) step(ctx context.Context, h *handler, f job.Filter) error {
	part, until := f, t.down
	if until.IsZero() {
		if until = t.top; f.Before != (job.ID{}) {
			until = f.Before.Time().Add(time.Millisecond)
		}
		if !f.CreatedBefore.IsZero() && f.CreatedBefore.Before(until) {
			until = f.CreatedBefore
		}
	} else {
		part.CreatedBefore = until
	}
	since := until.Add(-t.width).Truncate(time.Millisecond)
	last := !since.After(f.CreatedAfter) || since.Unix() <= 0
	if !last {
		part.CreatedAfter = since
	}
	if t.part > 0 {
		return t.stepWithin(ctx, h, part, since, last)
	}
	begun := time.Now()
	done, err := t.window(ctx, h, part)
	took := time.Since(begun)
	if err != nil {
		return err
	}
	t.mu.Lock()
	full := len(t.found) == f.Limit && (done || !t.found[f.Limit-1].Time().Before(t.down))
	if done {
		t.down = since
	}
	t.mu.Unlock()
	switch {
	case done && last, full:
		t.end(false)
	case done && took < mostWindow/4:
		t.width = min(t.growth*t.width, mostWidth)
	case !done && took >= firstSearchTime/2 && t.width == time.Millisecond:
		t.part = firstPart
	case !done && took >= firstSearchTime/2:
		t.width, t.growth = max(t.width/16, time.Millisecond), 2
	}
	return nil
}

// stepWithin searches the next part of a window that cannot be made shorter: some jobs, by their IDs.
func (t *backgroundSearch) stepWithin(ctx context.Context, h *handler, f job.Filter, since time.Time, last bool) error {
	next := job.Filter{CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, Before: f.Before, Limit: t.part}
	if t.within != (job.ID{}) {
		next.Before = t.within
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, mostWindow, errLate)
	defer cancel()
	jobs, err := h.find(ctx, next)
	done := err == nil
	if done && len(jobs) > 0 {
		for _, j := range jobs {
			f.IDs = append(f.IDs, j.ID)
		}
		done, err = t.window(ctx, h, f)
	}
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	took, over := time.Since(begun), done && len(jobs) < t.part
	if done && !over {
		t.within = jobs[len(jobs)-1].ID
	}
	t.mu.Lock()
	full := len(t.found) == f.Limit && (over || bytes.Compare(t.found[f.Limit-1][:], t.within[:]) >= 0 && t.within != (job.ID{}))
	if over {
		t.down = since
	}
	t.mu.Unlock()
	switch {
	case over && last, full:
		t.end(false)
	case over:
		t.part, t.within = 0, job.ID{}
	case done && took < firstSearchTime/4:
		t.part = min(2*t.part, mostPart)
	case !done && t.part == 1 && took >= mostWindow:
		t.end(true)
	case !done && took >= firstSearchTime/2:
		t.part = max(t.part/4, 1)
	}
	return nil
}

// window searches part, and adds the jobs that it finds. If done is false, the time was too short.
func (t *backgroundSearch) window(ctx context.Context, h *handler, part job.Filter) (done bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostWindow, errLate)
	defer cancel()
	jobs, err := h.find(ctx, part)
	found := make([]job.ID, len(jobs))
	for i, j := range jobs {
		found[i] = j.ID
	}
	t.mu.Lock()
	t.found = newest(part.Limit, t.found, found)
	t.mu.Unlock()
	if errors.Is(err, errLate) {
		return false, nil
	}
	return err == nil, err
}
