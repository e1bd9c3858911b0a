package segment_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// benchRecords returns how many records the benchmarks use, from MEANWHILE_LOGS_RECORDS. A day of a busy site is 100 million, which takes
// 15 GB of disk in MEANWHILE_LOGS_DIR, or in a temporary directory, and some minutes. With MEANWHILE_LOGS_DIR the records stay, and are
// used again.
func benchRecords() int {
	n, err := strconv.Atoi(os.Getenv("MEANWHILE_LOGS_RECORDS"))
	if err != nil {
		return 200_000
	}
	return n
}

const benchBatch = 1000

// A source makes batches like those of real programs: sentences with numbers in them, of 100 bytes.
type source struct {
	batches []*logs.Batch
	next    int
}

var sentences = []string{
	"GET /api/v1/users/%d/sessions HTTP/1.1 200 %d bytes in %dms from 10.0.%d.%d cache=hit region=eu-west",
	"connection to upstream search-%d closed after %d requests, idle for %d seconds, pool has %d of %d left",
	"job %d of queue mail completed in %d ms on attempt %d; recipient user-%d@example.com accepted it, %d",
	"user %d logged in from 192.168.%d.%d with session %d, two-factor by token %d, as member, theme is dark",
	"cache refreshed: %d keys scanned, %d expired, %d evicted by size, %d kept, took %d microseconds in all",
	"timed out waiting for lock %d held by worker %d since %d ms; %d others wait in line, giving up now: %d",
}

func newSource(service string, seed uint64) *source {
	random := rand.New(rand.NewPCG(seed, 7))
	s := new(source)
	for range 16 {
		b := &logs.Batch{Service: service}
		for range benchBatch {
			text := fmt.Appendf(nil, sentences[random.IntN(len(sentences))], random.IntN(100_000), random.IntN(5000), random.IntN(250), random.IntN(250), random.IntN(250))
			text = append(text, make([]byte, 100)...)[:100]
			for i, c := range text {
				if c == 0 {
					text[i] = '.'
				}
			}
			b.Add(&logs.View{Time: 1, Message: text, Level: slog.Level(4 * random.IntN(2))})
		}
		s.batches = append(s.batches, b)
	}
	return s
}

// batch returns a batch whose records have times from at on.
func (s *source) batch(at time.Time) *logs.Batch {
	b := s.batches[s.next%len(s.batches)]
	s.next++
	now := at.UnixNano()
	b.Min, b.Max = now, now+int64(b.Count)*300-300
	for rest := b.Data; len(rest) > 0; now += 300 {
		size, n := binary.Uvarint(rest)
		binary.LittleEndian.PutUint64(rest[n:], uint64(now))
		rest = rest[n+int(size):]
	}
	return b
}

// fill appends records from 8 callers, of 4 services.
func fill(ctx context.Context, store *segment.Store, records int) error {
	const callers = 8
	var left atomic.Int64
	left.Store(int64(records / benchBatch))
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for caller := range callers {
			src := newSource(fmt.Sprint("service", caller%4), uint64(caller))
			meanwhile.Go(ctx, func(ctx context.Context) error {
				for left.Add(-1) >= 0 {
					if err := store.Append(ctx, src.batch(time.Now())); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return nil
	})
}

func BenchmarkAppend(b *testing.B) {
	records := benchRecords()
	run(b, func(ctx context.Context) error {
		var took time.Duration
		for b.Loop() {
			b.StopTimer()
			store, err := segment.Open(ctx, b.TempDir(), segment.Config{Bytes: -1, Logger: quiet})
			if err != nil {
				return err
			}
			b.StartTimer()
			begin := time.Now()
			if err := fill(ctx, store, records); err != nil {
				return err
			}
			took += time.Since(begin)
			b.StopTimer()
			if err := store.Close(); err != nil {
				return err
			}
			b.StartTimer()
		}
		b.ReportMetric(float64(records)*float64(b.N)/took.Seconds(), "records/s")
		return nil
	})
}

// BenchmarkFindRare finds a word that is in one record of all.
func BenchmarkFindRare(b *testing.B) {
	benchFind(b, func(ctx context.Context, store *segment.Store) (int, error) {
		filter, err := filter.Parse("needle")
		if err != nil {
			return 0, err
		}
		found, err := meanwhile.Collect(store.Find(ctx, storage.Query{Filter: filter}))
		return len(found), err
	}, 1)
}

// BenchmarkLast reads the last 100 records of a service.
func BenchmarkLast(b *testing.B) {
	benchFind(b, func(ctx context.Context, store *segment.Store) (int, error) {
		filter, err := filter.Parse("service=service1")
		if err != nil {
			return 0, err
		}
		found, err := meanwhile.Collect(store.Find(ctx, storage.Query{Filter: filter, Limit: 100}))
		return len(found), err
	}, 100)
}

// BenchmarkFollow appends records one at a time, and waits for each to arrive through Follow.
func BenchmarkFollow(b *testing.B) {
	run(b, func(ctx context.Context) error {
		store, err := segment.Open(ctx, b.TempDir(), segment.Config{Sync: segment.OS, Bytes: -1, Logger: quiet})
		if err != nil {
			return err
		}
		followed, came := store.Follow(ctx, storage.Query{}), make(chan error, 1)
		meanwhile.Go(ctx, func(context.Context) error {
			for _, err := range followed {
				came <- err
			}
			return nil
		}, meanwhile.InBackground())
		b.ReportAllocs()
		for n := uint64(1); b.Loop(); n++ {
			if err := store.Append(ctx, logtest.Batch("api", logs.Client{}, n, 1)); err != nil {
				return err
			}
			if err := <-came; err != nil {
				return err
			}
		}
		return store.Close()
	})
}

// benchFind measures searches in a store with a needle in the middle, when all but the newest is in segments.
func benchFind(b *testing.B, find func(ctx context.Context, store *segment.Store) (int, error), want int) {
	run(b, func(ctx context.Context) error {
		dir := os.Getenv("MEANWHILE_LOGS_DIR")
		if dir == "" {
			dir = b.TempDir()
		}
		store, err := segment.Open(ctx, dir, segment.Config{Bytes: -1, Logger: quiet})
		if err != nil {
			return err
		}
		if stats, err := store.Services(ctx); err != nil {
			return err
		} else if len(stats) == 0 {
			needle := &logs.Batch{Service: "service2"}
			needle.Add(&logs.View{Time: time.Now().UnixNano(), Message: []byte("the needle is here")})
			for _, part := range []func() error{
				func() error { return fill(ctx, store, benchRecords()/2) },
				func() error { return store.Append(ctx, needle) },
				func() error { return fill(ctx, store, benchRecords()/2) },
			} {
				if err := part(); err != nil {
					return err
				}
			}
		}
		for b.Loop() {
			if n, err := find(ctx, store); n != want || err != nil {
				return fmt.Errorf("%d records: %w", n, err)
			}
		}
		return store.Close()
	})
}

func run(b *testing.B, fn func(ctx context.Context) error) {
	b.Helper()
	if err := meanwhile.Run(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}
