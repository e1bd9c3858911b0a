package logtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A Memory keeps the messages of records by client, in memory, and leaves out records that it has already, as stores do. Sessions append
// to it in tests.
type Memory struct {
	Mu       sync.Mutex
	Numbers  map[logs.Client]uint64
	Messages map[logs.Client][]string
	Calls    int
	Fail     error         // what Append returns
	Hold     chan struct{} // when not nil, Append waits until it is closed
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{Numbers: map[logs.Client]uint64{}, Messages: map[logs.Client][]string{}}
}

// Last returns the highest number that it has of a client.
func (m *Memory) Last(_ context.Context, client logs.Client) (uint64, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.Numbers[client], nil
}

// Append keeps batches, or returns Fail if that is set.
func (m *Memory) Append(ctx context.Context, batches ...*logs.Batch) error {
	m.Mu.Lock()
	hold, fail := m.Hold, m.Fail
	m.Calls++
	m.Mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if fail != nil {
		return fail
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, b := range batches {
		if b.Client != (logs.Client{}) && b.Last <= m.Numbers[b.Client] {
			continue
		}
		m.Numbers[b.Client] = b.Last
		for v, err := range b.Views {
			if err != nil {
				return err
			}
			m.Messages[b.Client] = append(m.Messages[b.Client], string(v.Message))
		}
	}
	return nil
}

// Of returns the messages of a client, in the order in which they came.
func (m *Memory) Of(client logs.Client) []string {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return slices.Clone(m.Messages[client])
}

// Reported returns how many records were dropped as the reports say, and how many other records there are.
func (m *Memory) Reported() (dropped, kept int64) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, messages := range m.Messages {
		for _, message := range messages {
			var n int64
			if _, err := fmt.Sscanf(message, "%d log records were dropped", &n); err == nil {
				dropped += n
			} else {
				kept++
			}
		}
	}
	return dropped, kept
}
