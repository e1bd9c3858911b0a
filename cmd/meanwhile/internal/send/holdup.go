package send

import (
	"context"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// How long a program may be blocked while there is no space for its records: at most mostHeldUp at a time, and after that one
// part in heldUpPart of the time.
const (
	mostHeldUp = time.Second
	heldUpPart = 10
)

// A holdUp sends the records of a program, which waits for a moment while there is no space for them: in a burst that the server or
// the disk can catch up with, nothing is lost. After that, records are dropped and counted, since the program has more to do than
// to log. Its methods may be called concurrently.
type holdUp struct {
	ctx    context.Context
	sender *logs.Sender

	mu   sync.Mutex
	last time.Time     // when a record last waited
	left time.Duration // time to wait that was left then
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
	_ = h.sender.Add(v) // Add does not wait, and counts dropped records
}

// atOnce is a ctx with which a sender accepts a record only if it need not wait.
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
