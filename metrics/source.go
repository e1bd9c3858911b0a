package metrics

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// askTimeout bounds how long a scrape waits for the store.
const askTimeout = 2 * time.Second

// A source queries the store, at most once per interval.
type source struct {
	store    job.Store
	interval time.Duration
	failed   *prometheus.CounterVec
	hangs    atomic.Bool // a call runs, perhaps one that nobody waits for any more

	mu     sync.Mutex // held while the store is asked: others wait for that answer
	last   sample
	asked  time.Time
	silent time.Time // when it was first asked without an answer; zero while it answers
}

// A sample is an answer of the store; the zero value means that it did not answer.
type sample struct {
	counts []job.Count
	queues []job.QueueInfo
	ok     bool
}

// read returns an answer that is no older than the interval.
func (s *source) read() sample { return s.readWithin(s.interval) }

// readWithin returns an answer that is no older than age.
func (s *source) readWithin(age time.Duration) sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := time.Now()
	if !s.asked.IsZero() && begun.Sub(s.asked) < age {
		return s.last
	}
	s.last = s.ask()
	s.asked = time.Now()
	switch {
	case s.last.ok:
		s.silent = time.Time{}
	case s.silent.IsZero():
		s.silent = begun
	}
	return s.last
}

// silence returns for how long the store has not answered; zero while it answers.
func (s *source) silence() time.Duration {
	s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent.IsZero() {
		return 0
	}
	return max(time.Since(s.silent), 1)
}

func (s *source) ask() sample {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	counts, err := call(ctx, s, "counts", s.store.Counts)
	if err != nil {
		return sample{}
	}
	queues, err := call(ctx, s, "queues", s.store.Queues)
	if err != nil {
		return sample{}
	}
	return sample{counts: counts, queues: queues, ok: true}
}

var errHangs = errors.New("the call before has not returned yet")

// call calls the store, in a goroutine of its own, since a call may ignore the end of ctx. Such a call is left behind, and the store is not called
// again until it has returned. It is not a call of meanwhile.Blocking, whose places other calls may hold for long.
func call[T any](ctx context.Context, s *source, name string, fn func(context.Context) (T, error)) (got T, err error) {
	type answer struct {
		got T
		err error
	}
	if !s.hangs.CompareAndSwap(false, true) {
		err = errHangs
	} else {
		done := make(chan answer, 1)
		go func() {
			a := answer{err: meanwhile.ErrGoexit} // unless it returns
			defer func() {
				if v := recover(); v != nil {
					a.err = fmt.Errorf("panic: %v", v)
				}
				s.hangs.Store(false)
				done <- a
			}()
			a.got, a.err = fn(ctx)
		}()
		select {
		case a := <-done:
			got, err = a.got, a.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		s.failed.WithLabelValues(name).Inc()
	}
	return got, err
}
