package metrics

import "sync"

// MaxLabels is the maximum number of values of a label, or of pairs of values that go together. Later values are counted as
// "other".
const MaxLabels = 100

const other = "other"

// places are given to the first MaxLabels keys. In the zero value all are free.
type places[K comparable] struct {
	mu   sync.Mutex
	used map[K]bool
}

// assign reports whether key has a place, and gives it a free one.
func (p *places[K]) assign(key K) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[key] {
		return true
	}
	if len(p.used) >= MaxLabels {
		return false
	}
	if p.used == nil {
		p.used = map[K]bool{}
	}
	p.used[key] = true
	return true
}

// label returns name if it has a place, and otherwise other.
func label(p *places[string], name string) string {
	if p.assign(name) {
		return name
	}
	return other
}
