package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostStreams      = 100              // at once
	mostFollowed     = 100              // jobs of one stream
	longestStream    = time.Hour        // then it ends, and the client reconnects
	snapshotInterval = time.Second      // between two queries of the store
	heartbeat        = 15 * time.Second // without an event, so that no proxy takes the stream for dead
)

// events streams changes as server-sent events: without parameters those of the counts and queues, with id those of these jobs until all of them
// have finished. Stores do not report changes: the stream queries once a second and sends the differences, so that a change which is undone within
// a second is not seen.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	ids := query["id"]
	query.Del("id")
	if err := checkRest(query); err != nil {
		return err
	}
	if len(ids) > mostFollowed {
		return refuse(http.StatusUnprocessableEntity, "%d jobs: follow at most %d in one stream", len(ids), mostFollowed)
	}
	wanted, err := a.filter(filter{ID: ids})
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	default:
		return refuse(http.StatusServiceUnavailable, "%d streams are open, which is as many as there may be", mostStreams)
	}
	s := &stream{w: w, control: http.NewResponseController(w), said: map[string][sha256.Size]byte{}}
	ctx, cancel := a.waiting(r)
	defer cancel()
	if len(ids) == 0 {
		return s.run(ctx, func(ctx context.Context) (bool, error) { return false, a.tellCounts(ctx, s) })
	}
	return s.run(ctx, func(ctx context.Context) (bool, error) { return a.tellJobs(ctx, s, wanted.IDs) })
}

// tellCounts sends the counts of jobs and the queues, if they have changed.
func (a *API) tellCounts(ctx context.Context, s *stream) error {
	seen, err := a.snapshot.read(ctx)
	if err != nil {
		return err
	}
	if err := s.sendEvent("counts", "counts", map[string]any{"counts": seen.counts}); err != nil {
		return err
	}
	return s.sendEvent("queues", "queues", map[string]any{"queues": seen.queues})
}

// tellJobs sends the jobs that have changed, and reports whether all have finished.
func (a *API) tellJobs(ctx context.Context, s *stream, ids []job.ID) (over bool, err error) {
	jobs, err := a.config.Store.List(ctx, job.Filter{IDs: ids, Limit: len(ids)})
	if err != nil {
		return false, err
	}
	there := map[job.ID]bool{}
	over, now := true, time.Now()
	for _, j := range jobs {
		there[j.ID] = true
		over = over && j.State.Finished()
		if err := s.sendEvent("job", j.ID.String(), a.shown(j, now)); err != nil {
			return false, err
		}
	}
	for _, id := range ids {
		if there[id] {
			continue
		}
		if err := s.sendEvent("gone", id.String(), map[string]any{"id": id}); err != nil {
			return false, err
		}
	}
	if over {
		return true, s.sendEvent("end", "end", map[string]any{})
	}
	return false, nil
}

// A stream is a response of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	said    map[string][sha256.Size]byte // hash of the last event, by subject
	begun   bool
	last    time.Time
}

// run polls until there is nothing more to send, the client is gone, or the time is over. An error before the first event is returned; a later one
// ends the stream, and the client reconnects.
func (s *stream) run(ctx context.Context, poll func(context.Context) (over bool, err error)) error {
	for {
		over, err := poll(ctx)
		switch {
		case err != nil && !s.begun:
			return err
		case err != nil, over:
			return nil
		}
		if time.Since(s.last) >= heartbeat {
			if s.write([]byte(": nothing new\n\n")) != nil {
				return nil
			}
		}
		if meanwhile.Sleep(ctx, snapshotInterval) != nil {
			return nil
		}
	}
}

// sendEvent sends an event about a subject, unless it is the same as the one before.
func (s *stream) sendEvent(event, subject string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if s.said[subject] == sum {
		return nil
	}
	s.said[subject] = sum
	return s.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data))
}

func (s *stream) write(text []byte) error {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx must not buffer it
		text = append([]byte("retry: 2000\n\n"), text...)
	}
	s.last = time.Now()
	_ = s.control.SetWriteDeadline(s.last.Add(writeTime)) // an error means that there are no deadlines
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

// A storeSnapshot is shared by all streams: the store is queried at most once a second for all of them.
type storeSnapshot struct {
	store job.Store
	mu    sync.Mutex
	at    time.Time
	seen  seen
}

type seen struct {
	counts []job.Count
	queues []shownQueue
}

// read queries the store, or returns a result that is less than a second old.
func (l *storeSnapshot) read(ctx context.Context) (seen, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.at.IsZero() || now.Sub(l.at) >= snapshotInterval {
		ctx, cancel := context.WithTimeout(ctx, shortTime)
		defer cancel()
		counts, err := l.store.Counts(ctx)
		if err != nil {
			return seen{}, err
		}
		queues, err := showQueues(ctx, l.store)
		if err != nil {
			return seen{}, err
		}
		l.seen, l.at = seen{list(counts), queues}, now
	}
	return l.seen, nil
}
