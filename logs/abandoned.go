package logs

import (
	"io"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// An abandonedSpool is the source of the records in the spool of a process that has ended.
type abandonedSpool struct {
	spool *spool
	more  chan struct{}

	mu       sync.Mutex
	acked    uint64
	inflight []inFlightBatch
	flying   int
}

func (a *abandonedSpool) ready() <-chan struct{} { return a.more }

func (a *abandonedSpool) reset(last uint64) error {
	a.spool.rewind()
	a.acknowledged(last)
	return nil
}

func (a *abandonedSpool) next() (f outFrame, wait time.Duration, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flying >= window {
		return f, 0, false, nil
	}
	frame, last, err := a.spool.next(a.acked)
	switch {
	case err != nil:
		return f, 0, false, err
	case frame == nil && len(a.inflight) == 0:
		return f, 0, false, io.EOF
	case frame == nil:
		return f, 0, false, nil
	}
	a.inflight = append(a.inflight, inFlightBatch{last, len(frame)})
	a.flying += len(frame)
	return outFrame{head: frame}, 0, true, nil
}

func (a *abandonedSpool) sent(outFrame) {}

func (a *abandonedSpool) acknowledged(n uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acked = max(a.acked, n)
	landed := 0
	for landed < len(a.inflight) && a.inflight[landed].last <= n {
		a.flying -= a.inflight[landed].size
		landed++
	}
	a.inflight = append(a.inflight[:0], a.inflight[landed:]...)
	cond.Signal(a.more)
}

// known returns the number up to which the server has acknowledged the records.
func (a *abandonedSpool) known() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.acked
}
