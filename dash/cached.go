package dash

import (
	"sync"
	"time"
)

// A cached value caches answers that are expensive to find, by key. Each is kept for at least fresh and least, and ten times as long as it took to
// find.
type cached[T any] struct {
	least time.Duration

	mu      sync.Mutex
	answers map[string]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

// mostAnswers is how many answers a cached value keeps.
const mostAnswers = 100

// forget drops the answer for key, since it has changed.
func (m *cached[T]) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.answers, key)
}

// get returns the answer for key, calling find if it is not cached. Errors are not cached. Concurrent calls for one key may both call find.
func (m *cached[T]) get(key string, find func() (T, error)) (T, error) {
	begun := time.Now()
	m.mu.Lock()
	known, ok := m.answers[key]
	m.mu.Unlock()
	if ok && begun.Before(known.until) {
		return known.value, nil
	}
	value, err := find()
	if err != nil {
		return value, err
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[string]answer[T]{}
	}
	for other, a := range m.answers {
		if len(m.answers) >= mostAnswers || now.After(a.until) {
			delete(m.answers, other)
		}
	}
	m.answers[key] = answer[T]{value, now.Add(max(fresh, m.least, 10*now.Sub(begun)))}
	return value, nil
}
