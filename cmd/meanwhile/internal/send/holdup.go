package send

import (
	"context"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// How long a program is held up while there is no room for its records: no longer than mostHeldUp at once, and after that by
// one part in heldUpPart of the time.
const (
	mostHeldUp = time.Second
	heldUpPart = 10
)

// A holdUp takes the records of a program, which waits for a moment while there is no room for them: a burst that the server or the
// disk catches up with loses nothing. What has no room then is dropped and counted, as the program has more to do than to log.
// Its methods may be called at once.
type holdUp struct {
	ctx    context.Context
	sender *logs.Sender

	mu   sync.Mutex
	last time.Time     // when somebody waited
	left time.Duration // that was left then of the time to wait
}

func (h *holdUp) send(v *logs.View) {
	if h.sender.Send(atOnce, v) == nil {
		return
	}
	begin := time.Now()
	if wait := h.allowed(begin); wait > 0 {
		ctx, cancel := context.WithTimeout(h.ctx, wait)
		err := h.sender.Send(ctx, v)
		cancel()
		h.spend(time.Since(begin))
		if err == nil {
			return
		}
	}
	_ = h.sender.Add(v) // which does not wait, and counts what it drops
}

// atOnce has a sender take a record only when that needs no wait.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// allowed returns how long a record may wait now.
func (h *holdUp) allowed(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.IsZero() {
		h.left = mostHeldUp
	} else {
		h.left = min(mostHeldUp, h.left+now.Sub(h.last)/heldUpPart)
	}
	h.last = now
	return h.left
}

func (h *holdUp) spend(waited time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left -= waited
}
