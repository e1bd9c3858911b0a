package process_test

import (
	"errors"
	"slices"
	"sync"
)

var errTooMuch = errors.New("too much")

// A gauge counts how many run concurrently, and the highest number so far.
type gauge struct {
	mu            sync.Mutex
	running, most int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += n
	g.most = max(g.most, g.running)
}

// A journal records events in order.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}
