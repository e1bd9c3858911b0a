package metrics

import (
	"sync"
	"time"
)

// meanOver is about how many of the newest run times count: each older one counts a little less.
const meanOver = 200

// A mean is the mean run time of the newest attempts. The zero value has none yet.
type mean struct {
	mu      sync.Mutex
	n       int
	seconds float64
}

func (m *mean) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n = min(m.n+1, meanOver)
	m.seconds += (d.Seconds() - m.seconds) / float64(m.n)
}

// load returns the mean; known is false before the first attempt.
func (m *mean) load() (seconds float64, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seconds, m.n > 0
}
