package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/problem"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Bounds of requests.
const (
	maxSearches = 64   // concurrent searches; further ones are answered with 503
	maxFollows  = 256  // concurrent follows; further ones are answered with 503
	maxBuckets  = 2000 // of a histogram
)

type handler struct {
	finder            storage.Finder
	stats             func() any
	searches, follows *meanwhile.Semaphore
}

// Handler returns a handler that serves searches of a finder, below [Prefix]. It does not authenticate: the program that mounts it decides
// who may search. It opens a scope in the ctx of each request. The result of stats, which may be nil, is served as JSON. A nil finder
// means that the server stores no records: searches are answered with an error.
//
// At most 64 searches and 256 follows run concurrently; further ones are answered with 503. The connection of a client that reads nothing for
// ten minutes, or for one minute of a follow, is closed.
func Handler(finder storage.Finder, stats func() any) http.Handler {
	h := &handler{finder, stats, meanwhile.NewSemaphore(maxSearches), meanwhile.NewSemaphore(maxFollows)}
	mux := http.NewServeMux()
	for path, serve := range map[string]http.HandlerFunc{"find": h.find, "follow": h.follow, "count": h.count, "histogram": h.histogram, "services": h.services} {
		if finder == nil {
			serve = nothingKept
		}
		mux.HandleFunc("GET "+Prefix+path, serve)
	}
	mux.HandleFunc("GET "+Prefix+"stats", h.serveStats)
	return mux
}

func nothingKept(w http.ResponseWriter, _ *http.Request) {
	problem.Write(w, http.StatusNotFound, "this server keeps no records: none of its routes leads to the store", nil)
}

func (h *handler) find(w http.ResponseWriter, r *http.Request) {
	q, err := decode(r.URL.Query())
	if !enter(w, err, h.searches) {
		return
	}
	defer h.searches.Release(1)
	serveLines(w, r, searchPatience, func(ctx context.Context, l *lines) error {
		for record, err := range h.finder.Find(ctx, q) {
			if err != nil {
				return err
			}
			if err := l.record(&record); err != nil {
				return err
			}
		}
		return nil
	})
}

// count responds with a line of counts, and with heartbeats before it while it counts.
func (h *handler) count(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q, err := decode(v)
	var every time.Duration
	if text := v.Get("every"); err == nil && text != "" {
		if every, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("every: %.40q is not a time such as 5m", text)
		}
	}
	if err == nil {
		err = storage.CheckCounts(v["by"], every)
	}
	if !enter(w, err, h.searches) {
		return
	}
	defer h.searches.Release(1)
	serveLines(w, r, searchPatience, func(ctx context.Context, l *lines) error {
		counts, err := storage.CountBy(ctx, h.finder, q, v["by"], every)
		if err != nil {
			return err
		}
		return l.control(&control{Counts: counts})
	})
}

func (h *handler) follow(w http.ResponseWriter, r *http.Request) {
	q, err := decode(r.URL.Query())
	resume, wrong := flag(r.URL.Query(), "resume")
	if !enter(w, errors.Join(err, wrong), h.follows) {
		return
	}
	defer h.follows.Release(1)
	serveLines(w, r, followPatience, func(ctx context.Context, l *lines) error {
		records, after, err := h.followFrom(ctx, q, resume)
		if err != nil {
			return err
		}
		if err := l.control(&control{After: after}); err != nil {
			return err
		}
		for record, err := range records {
			missed, tooSlow := errors.AsType[*storage.MissedError](err)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case tooSlow:
				err = l.control(&control{Missed: missed.Error()})
			case err == nil:
				err = l.record(&record)
			}
			if err != nil {
				return err
			}
		}
		return errors.New("the records end")
	})
}

// followFrom follows after the newest record of each service, or after the numbers of the query. A client that resumes gets all records of
// the services that it does not name, so followFrom starts again if such a service was added in the meantime.
func (h *handler) followFrom(ctx context.Context, q storage.Query, resume bool) (meanwhile.Stream[logs.Record], map[string]uint64, error) {
	given := q.After
	for {
		var err error
		if q.After, err = h.startNumbers(ctx, q.Filter, given, resume); err != nil {
			return nil, nil, err
		}
		records := h.finder.Follow(ctx, q)
		if !resume {
			return records, q.After, nil
		}
		now, err := h.startNumbers(ctx, q.Filter, given, resume)
		if err != nil || len(now) == len(q.After) {
			return records, q.After, err
		}
	}
}

// startNumbers returns the number of each service after which a follow begins.
func (h *handler) startNumbers(ctx context.Context, filter filter.Filter, given map[string]uint64, resume bool) (map[string]uint64, error) {
	services, err := h.finder.Services(ctx)
	if err != nil {
		return nil, err
	}
	after := make(map[string]uint64)
	for _, s := range services {
		if !filter.Service(s.Service) {
			continue
		}
		number, ok := given[s.Service]
		if !ok && !resume {
			number = s.Last
		}
		after[s.Service] = min(number, s.Last) // the client may have the numbers of another store, which may be higher
	}
	return after, nil
}

func (h *handler) histogram(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q, err := decode(v)
	n := 60
	if text := v.Get("n"); err == nil && text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxBuckets {
			err = fmt.Errorf("n: give 1 to %d parts of the time", maxBuckets)
		}
	}
	if q.Until.IsZero() {
		q.Until = time.Now()
	}
	if q.Since.IsZero() {
		q.Since = q.Until.Add(-24 * time.Hour)
	}
	if err == nil && !q.Since.Before(q.Until) {
		err = errors.New("since: give a time before that of until")
	}
	if !enter(w, err, h.searches) {
		return
	}
	defer h.searches.Release(1)
	answer(w, r, func(ctx context.Context) (any, error) { return h.finder.Histogram(ctx, q, n) })
}

func (h *handler) services(w http.ResponseWriter, r *http.Request) {
	answer(w, r, func(ctx context.Context) (any, error) {
		services, err := h.finder.Services(ctx)
		if services == nil {
			services = []storage.ServiceStats{}
		}
		return services, err
	})
}

func (h *handler) serveStats(w http.ResponseWriter, r *http.Request) {
	if h.stats == nil {
		problem.Write(w, http.StatusNotFound, "this server has no statistics", nil)
		return
	}
	answer(w, r, func(context.Context) (any, error) { return h.stats(), nil })
}

// enter acquires a slot for a request. It returns false after it has written an error response: the request is invalid, or there are too many.
func enter(w http.ResponseWriter, wrong error, places *meanwhile.Semaphore) bool {
	if wrong != nil {
		problem.Write(w, http.StatusBadRequest, wrong.Error(), nil)
		return false
	}
	if places.TryAcquire(1) {
		return true
	}
	w.Header().Set("Retry-After", "5")
	problem.Write(w, http.StatusServiceUnavailable, "too much is searched at once: ask again in a few seconds", nil)
	return false
}

// answer writes the value that fn returns as JSON.
func answer(w http.ResponseWriter, r *http.Request, fn func(ctx context.Context) (any, error)) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(searchPatience))
	var body []byte
	err := meanwhile.Run(r.Context(), func(ctx context.Context) error {
		value, err := fn(ctx)
		if err == nil {
			body, err = json.Marshal(value)
		}
		return err
	}, meanwhile.Name("answer"))
	if err != nil {
		problem.Write(w, http.StatusInternalServerError, said(err), nil)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(append(body, '\n'))
}

// said returns the text of an error for clients, without the value and the stack trace of a panic.
func said(err error) string {
	if _, ok := errors.AsType[*meanwhile.PanicError](err); ok {
		return "the server failed: its log says how"
	}
	return err.Error()
}
