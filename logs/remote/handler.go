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

// Bounds of what is served at once, and of its parts. Further requests are answered with 503.
const (
	maxSearches = 64
	maxFollows  = 256
	maxBuckets  = 2000
)

type handler struct {
	finder            storage.Finder
	stats             func() any
	searches, follows *meanwhile.Semaphore
}

// Handler serves a finder, below [Prefix], to everybody who gets there: who may is for its caller to decide. It uses the
// ctx of its requests as a scope. What stats returns, if it is not nil, is served as JSON. Where no records are kept, finder is
// nil: who looks for some gets an error that says so.
//
// At most 64 searches and 256 follows run at once. A reader that takes nothing for ten minutes, or for one of a follow,
// loses its connection.
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

// count answers with a line of counts. Lines before it are signs of life.
func (h *handler) count(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q, err := decode(v)
	var every time.Duration
	if text := v.Get("every"); err == nil && text != "" {
		if every, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("every: %.40q is no time such as 5m", text)
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
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				err = l.control(&control{Missed: err.Error()})
			default:
				err = l.record(&record)
			}
			if err != nil {
				return err
			}
		}
		return errors.New("the records end")
	})
}

// followFrom returns what comes after the newest record of each service there is, or after the numbers of the query. Who
// resumes has seen nothing of a service that it does not name, so there is to be none that came since it was looked.
func (h *handler) followFrom(ctx context.Context, q storage.Query, resume bool) (meanwhile.Stream[logs.Record], map[string]uint64, error) {
	given := q.After
	for {
		var err error
		if q.After, err = h.begin(ctx, q.Filter, given, resume); err != nil {
			return nil, nil, err
		}
		records := h.finder.Follow(ctx, q)
		if !resume {
			return records, q.After, nil
		}
		now, err := h.begin(ctx, q.Filter, given, resume)
		if err != nil || len(now) == len(q.After) {
			return records, q.After, err
		}
	}
}

// begin returns after which numbers a follow begins.
func (h *handler) begin(ctx context.Context, filter filter.Filter, given map[string]uint64, resume bool) (map[string]uint64, error) {
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
		after[s.Service] = min(number, s.Last) // a store that was replaced begins anew
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

// enter takes a place for a request, or answers what is wrong with it, or that there is none.
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

// answer writes what fn returns as JSON.
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

// said is what a client is told of an error: of a panic not where in the program it was.
func said(err error) string {
	if _, ok := errors.AsType[*meanwhile.PanicError](err); ok {
		return "the server failed: its log says how"
	}
	return err.Error()
}
