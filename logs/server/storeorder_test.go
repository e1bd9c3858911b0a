package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A fickleStore keeps messages, and refuses every third call, and as every store does, a batch that is too large.
type fickleStore struct {
	storage.Store
	mu      sync.Mutex
	calls   int
	batches int
	got     []string
	wrong   []string
}

func (*fickleStore) Services(context.Context) ([]storage.ServiceStats, error) { return nil, nil }

func (s *fickleStore) Append(_ context.Context, batches ...*logs.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls%3 == 1 {
		return errors.New("not now")
	}
	for _, b := range batches {
		if len(b.Data) > logs.MaxBatch {
			return fmt.Errorf("a batch has %d bytes", len(b.Data))
		}
	}
	for _, b := range batches {
		s.batches++
		n := 0
		for v, err := range b.Views {
			if err != nil {
				s.wrong = append(s.wrong, err.Error())
				break
			}
			n++
			message, _, _ := strings.Cut(string(v.Message), " ")
			s.got = append(s.got, message)
		}
		if n != b.Count {
			s.wrong = append(s.wrong, fmt.Sprintf("%d records in a batch of %d", n, b.Count))
		}
	}
	return nil
}

// Batches of any size are stored whole, once, and in the order of their connection, also if the store fails in between. Those of one
// service are merged.
func TestStoreOrder(t *testing.T) {
	const connections, flushes = 3, 200
	store := &fickleStore{}
	sent := make([]int, connections)
	synctest.Test(t, func(t *testing.T) {
		serve(t, server.Config{Store: store}, func(ctx context.Context, s *server.Server) {
			var clients []*meanwhile.Task[struct{}]
			for conn := range connections {
				clients = append(clients, meanwhile.Go(ctx, func(ctx context.Context) error {
					random := rand.New(rand.NewPCG(1, uint64(conn)))
					f := s.Batcher("test")
					for range flushes {
						padding := strings.Repeat("x", random.IntN(400))
						for range 1 + random.IntN(1<<random.IntN(9)) {
							f.Add(&logs.View{Service: []byte("app"), Message: fmt.Appendf(nil, "%d/%d %s", conn, sent[conn], padding)})
							sent[conn]++
						}
						if err := f.Flush(ctx); err != nil {
							return err
						}
					}
					return f.Sync(ctx)
				}))
			}
			for _, client := range clients {
				if _, err := client.Wait(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	})
	if len(store.wrong) > 0 {
		t.Errorf("%d batches are damaged: %s", len(store.wrong), store.wrong[0])
	}
	next := make([]int, connections)
	for _, message := range store.got {
		var conn, n int
		if _, err := fmt.Sscanf(message, "%d/%d", &conn, &n); err != nil || n != next[conn] {
			t.Fatalf("got message %q, want number %d of its connection", message, next[conn])
		}
		next[conn]++
	}
	for conn := range connections {
		if next[conn] != sent[conn] {
			t.Errorf("connection %d: got %d messages, want %d", conn, next[conn], sent[conn])
		}
	}
	if store.batches >= connections*flushes {
		t.Errorf("%d flushes became %d batches: small ones are not put together", connections*flushes, store.batches)
	}
}

// The log reports when the store starts to fail, and when it works again.
func TestStoreRecovers(t *testing.T) {
	var said strings.Builder
	synctest.Test(t, func(t *testing.T) {
		serve(t, server.Config{Store: &fickleStore{}, Logger: slog.New(slog.NewTextHandler(&said, nil))}, func(ctx context.Context, s *server.Server) {
			f := s.Batcher("test")
			f.Add(&logs.View{Service: []byte("app"), Message: []byte("hello")})
			if err := f.Sync(ctx); err != nil {
				t.Error(err)
			}
		})
	})
	failed, recovered := strings.Index(said.String(), "the store does not take records"), strings.Index(said.String(), "the store takes records again")
	if failed < 0 || recovered < failed {
		t.Errorf("the log has a failure at %d, and that it is over at %d:\n%s", failed, recovered, said.String())
	}
}

// Records that each come twice become batches that a store takes, although the reports of repeats are longer than the records.
func TestReportsOfRepeatsFitIntoAStore(t *testing.T) {
	store, routes := &fickleStore{}, []server.Route{{Dedupe: true, To: []server.Destination{{Store: true}}}}
	const records = logs.MaxBatchRecords
	synctest.Test(t, func(t *testing.T) {
		serve(t, server.Config{Store: store, Routes: routes}, func(ctx context.Context, s *server.Server) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			f := s.Batcher("test")
			for i := range records {
				f.Add(&logs.View{Service: []byte("app"), Message: []byte{'a' + byte(i/2%2)}})
			}
			if err := f.Sync(ctx); err != nil {
				t.Errorf("the records are not stored: %v", err)
			}
		})
	})
	count := map[string]int{}
	for _, message := range store.got {
		count[message]++
	}
	if count["a"] != records/4 || count["b"] != records/4 || count["Last"] != records/2 {
		t.Errorf("of %d records: got %v", records, count)
	}
}
