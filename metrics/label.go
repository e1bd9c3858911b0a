package metrics

import "sync"

// MaxLabels is how many values a label has at most, or pairs of values that go together. What comes later is counted as
// "other".
const MaxLabels = 100

const other = "other"

// places are for the first MaxLabels that come. The zero value has all of them free.
type places[K comparable] struct {
	mu    sync.Mutex
	taken map[K]bool
}

// take reports whether key has a place, and gives it a free one.
func (p *places[K]) take(key K) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] {
		return true
	}
	if len(p.taken) >= MaxLabels {
		return false
	}
	if p.taken == nil {
		p.taken = map[K]bool{}
	}
	p.taken[key] = true
	return true
}

// label returns name if it has a place, and otherwise other.
func label(p *places[string], name string) string {
	if p.take(name) {
		return name
	}
	return other
}
