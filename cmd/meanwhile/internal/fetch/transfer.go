package fetch

import (
	"net/url"
	"slices"
	"sync"
	"time"
)

// A transfer is one URL to fetch and its result. It belongs to its current holder: the input, the task that fetches it, or the
// loop that reports it.
type transfer struct {
	at    inputLine
	index int // among all transfers
	url   *url.URL
	slot  *host // host whose slot it has; nil without limits per host

	attempts int
	begun    time.Time // the first attempt
	elapsed  time.Duration
	spent    phases // of the last attempt
	status   int    // 0 if there was no response
	bytes    int64
	final    *url.URL // after redirects; nil for none
	location string   // of a redirect that was not followed
	file     string
	err      error
	ended    bool // there will be no more attempts
	again    bool // waiting for the next attempt
}

// A ledger has the transfers that were read from the input and not reported yet.
type ledger struct {
	mu   sync.Mutex
	open map[*transfer]struct{}
}

func (l *ledger) enter(t *transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[*transfer]struct{})
	}
	l.open[t] = struct{}{}
}

func (l *ledger) strike(t *transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, t)
}

// rest returns the transfers that were not reported, in the order of the input.
func (l *ledger) rest() []*transfer {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := make([]*transfer, 0, len(l.open))
	for t := range l.open {
		rest = append(rest, t)
	}
	slices.SortFunc(rest, func(a, b *transfer) int { return a.index - b.index })
	return rest
}
