//go:build unix

package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	run       = 20_000 // records, of all services together
	mostBatch = 1000   // records of one export request
)

var services = []string{"api", "größe.web", "worker-7"}

// TestHarmToCollector: a program logs 20,000 records while the collector is killed, killed while it is suspended, suspended, and
// gets errors from the server that it exports to. Each record arrives, those of a service in order, and only records that were in
// flight at such a moment arrive twice.
func TestHarmToCollector(t *testing.T) {
	sink := newSink(t)
	p, address := collect(t, sink.address, collecting{})
	var there atomic.Bool // the collector is up and may be killed
	killed := make(chan struct{}, 2)
	kills, refusals := 0, 0
	sink.before = func(w http.ResponseWriter, _ []exported, taken int) (done bool) {
		switch {
		case taken >= 2000 && kills == 0 && there.Load(), taken >= 6000 && kills == 1 && there.Load():
			if kills++; kills == 2 {
				p.hold()
			}
			p.kill() // before it receives the answer
			there.Store(false)
			killed <- struct{}{}
		case taken >= 8000 && refusals < len(services):
			w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway}[refusals%3])
			refusals++
			return true
		}
		return false
	}
	there.Store(true)
	s := serve(t, "otlp://"+address)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return s.log(t, ctx, run/2) })
		return startAgain(ctx, p, killed, &there)
	})
	if err != nil {
		t.Fatal(err)
	}
	p.hold()
	err = s.log(t, t.Context(), run/2) // programs that log are not blocked
	p.release()
	if err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, len(services))
	arrived := sink.taken()
	checkArrived(t, s, arrived, (kills+refusals+1)*len(services)*mostBatch)
}

// TestHarmToServer: the server itself is killed while it forwards. Each record arrives, and only records whose arrival was not
// noted yet arrive twice.
func TestHarmToServer(t *testing.T) {
	sink := newSink(t)
	_, address := collect(t, sink.address, collecting{})
	s := serve(t, "otlp://"+address)
	var there atomic.Bool
	killed := make(chan struct{}, 2)
	kills, before := 0, 0
	sink.before = func(_ http.ResponseWriter, _ []exported, taken int) (done bool) {
		if kills < 2 && taken >= 4000*(kills+1) && there.Load() {
			s.kill()
			kills++
			before += taken + len(services)*mostBatch // including the records in the collector
			there.Store(false)
			killed <- struct{}{}
		}
		return false
	}
	there.Store(true)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return s.log(t, ctx, run) })
		return startAgain(ctx, s.process, killed, &there)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, len(services))
	arrived := sink.taken()
	checkArrived(t, s, arrived, before)
}

// startAgain restarts a process twice.
func startAgain(ctx context.Context, p *process, killed <-chan struct{}, there *atomic.Bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("too few records arrive"))
	defer cancel()
	for range 2 {
		select {
		case <-killed:
			p.start()
			there.Store(true)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// log makes each service log its part of the records, and returns when the server has them.
func (s *server) log(t *testing.T, ctx context.Context, records int) error {
	handlers := make([]*logs.Handler, len(services))
	for i, service := range services {
		handlers[i] = s.handler(t, service)
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for _, h := range handlers {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				log := slog.New(h)
				for n := range records / len(services) {
					log.LogAttrs(ctx, slog.LevelInfo, fmt.Sprint("record ", n))
				}
				if dropped := h.Sender().Stats().Dropped; dropped > 0 {
					return fmt.Errorf("%d records were dropped", dropped)
				}
				return h.Flush(ctx)
			})
		}
		return nil
	})
}

// checkArrived fails unless all records of a server have arrived, for the first time in order, and at most mostAgain of them once more.
func checkArrived(t *testing.T, s *server, arrived []exported, mostAgain int) {
	t.Helper()
	kept := map[string][]logs.Record{}
	total := 0
	for _, service := range services {
		kept[service] = s.kept(t, service)
		total += len(kept[service])
	}
	if want := run / 2 / len(services) * len(services) * 2; total < want {
		t.Errorf("the server has %d records, want at least the %d that were logged", total, want)
	}
	next, seen, again := map[string]int{}, map[string]bool{}, 0
	for _, a := range arrived {
		identity := a.identity()
		if seen[identity] {
			again++
			continue
		}
		seen[identity] = true
		of, n := kept[a.service], next[a.service]
		if n == len(of) || of[n].Identity() != identity || show(a.Body) != fmt.Sprintf("%q", of[n].Message) {
			t.Fatalf("%s: record %d that arrives is %s, %s", a.service, n+1, identity, show(a.Body))
		}
		next[a.service]++
	}
	if len(seen) < total {
		t.Errorf("%d of %d records arrived: %v", len(seen), total, next)
	}
	if again > mostAgain {
		t.Errorf("%d records arrived twice, want at most %d", again, mostAgain)
	}
	t.Logf("%d records of %s, %d arrived twice", len(seen), strings.Join(slices.Sorted(maps.Keys(next)), ", "), again)
}
