package load

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A memory keeps the received messages, or only counts them.
type memory struct {
	mu      sync.Mutex
	counts  bool
	records []logs.Record
	count   int
}

func (m *memory) Append(_ context.Context, batches ...*logs.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range batches {
		m.count += b.Count
		if m.counts {
			continue
		}
		for v, err := range b.Views {
			if err != nil {
				return err
			}
			m.records = append(m.records, v.Record())
		}
	}
	return nil
}

func (m *memory) Last(context.Context, logs.Client) (uint64, error) { return 0, nil }

// serveOwn sends a load to the server side of the protocol, in this process.
func serveOwn(tb testing.TB, l Load, m *memory) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	l.Address = listener.Addr().String()
	sessions := server.NewSessions(m, server.SessionConfig{Keys: []string{l.Key}})
	err = meanwhile.Run(tb.Context(), func(ctx context.Context) error {
		for range l.Connections {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				c, err := listener.Accept()
				if err != nil {
					return err
				}
				defer c.Close()
				_, err = sessions.Serve(ctx, c, nil)
				return err
			}, meanwhile.InBackground())
		}
		return l.Send(ctx)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestOwn(t *testing.T) {
	l := Load{Format: Own, Connections: 3, Messages: 50_500, Key: "secret"}
	var m memory
	serveOwn(t, l, &m)
	tally, err := l.CountRecords(func(yield func(logs.Record, error) bool) {
		for _, r := range m.records {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil || !tally.Complete() || tally.Arrived != l.Messages {
		t.Errorf("%v, %v", tally, err)
	}
}

// BenchmarkOwn measures the limit of the protocol: messages are not stored.
func BenchmarkOwn(b *testing.B) {
	m := memory{counts: true}
	serveOwn(b, Load{Format: Own, Connections: min(8, b.N), Messages: b.N, Key: "secret"}, &m)
	if m.count != b.N {
		b.Errorf("%d of %d records arrived", m.count, b.N)
	}
}
