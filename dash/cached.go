package dash

import (
	"sync"
	"time"
)

// A cached value keeps answers that cost much for a while, for whoever asks the same: at least for fresh, or for least, and so long that finding
// them takes a tenth of the time at most.
type cached[T any] struct {
	least time.Duration

	mu      sync.Mutex
	answers map[string]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

// mostAnswers is how many a memo keeps.
const mostAnswers = 100

// forget drops the answer to what key asks, since it has changed.
func (m *cached[T]) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.answers, key)
}

// get returns the answer to what key asks, which find finds. Errors are not kept. Two who ask at once may both find it.
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
