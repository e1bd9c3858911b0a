package logs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
)

const (
	mostHeard   = 100_000  // clients whose numbers are in memory
	mostLines   = 1 << 20  // bytes that wait to be written; whoever brings more, waits
	mostWaiting = 64 << 20 // in all outputs of a server; each takes what one brings when it has nothing else, though
	idleOutput  = time.Minute
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 5 * time.Second
	lineDamaged = "lines were not written"
)

// A lineTarget is what lines are written to. Only the task of its output calls it.
type lineTarget interface {
	write(ctx context.Context, lines []byte, from []heard) (n int, err error) // opens it; of n bytes, none comes again
	sync() error
	close() error // until the next write
}

// A lineOutput writes lines in a task of its own, while those who bring them go on: what comes during one write is the
// next one. A write that fails is tried again until it succeeds.
type lineOutput struct {
	name    string
	target  lineTarget
	journal *lineJournal  // nil: it is no file, or there is none
	path    string        // in the journal
	waiting *atomic.Int64 // bytes added and not written, of all outputs of the server
	logger  *slog.Logger
	task    *meanwhile.Task[struct{}]
	wake    chan struct{}

	mu      sync.Mutex
	heard   map[Client]uint64 // up to which numbers it has got records of clients; those missing here, the journal knows
	from    []heard           // of those pending
	pending []byte
	spare   []byte // the room of the next pending
	added   int64  // bytes, ever
	written int64
	synced  int64
	asked   int64 // to be synced
	reopen  bool
	closing bool
	failure error     // of the newest try; nil while all is well
	changed cond.Cond // of these
	repeats repeats
	culled  int64
	lost    int64 // bytes, at the end
}

func newLineOutput(name string, target lineTarget, waiting *atomic.Int64, logger *slog.Logger) *lineOutput {
	o := &lineOutput{name: name, target: target, waiting: waiting, logger: logger, wake: make(chan struct{}, 1), heard: map[Client]uint64{}}
	if f, ok := target.(*fileTarget); ok {
		o.journal, o.path = f.journal, f.place
	}
	return o
}

// outputName returns what it is called in counters and in the log: the path of a file, the address of a socket.
func (o *lineOutput) outputName() string { return o.name }

// journaled reports whether what it takes of clients is in a journal before it is written.
func (o *lineOutput) journaled() bool { return o.journal != nil }

// lineStats is the state of a line output.
type lineStats struct {
	written int64 // bytes of lines
	waiting int64 // bytes that wait
	repeats int64 // lines that repeated the one before
	lost    int64 // bytes that could not be written before the end
	failure error // why it fails; nil while it does not
}

// stats returns its state.
func (o *lineOutput) stats() lineStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return lineStats{written: o.written, waiting: o.added - o.written, repeats: o.culled, lost: o.lost, failure: o.failure}
}

// start starts the task that writes.
func (o *lineOutput) start(ctx context.Context) {
	if f, ok := o.target.(*fileTarget); ok {
		f.ctx = ctx
	}
	o.task = meanwhile.Go(ctx, o.run, meanwhile.Name("write "+o.name))
}

// last returns the number up to which it has got the records of a client.
func (o *lineOutput) last(c Client) (uint64, error) {
	o.mu.Lock()
	last, known := o.heard[c]
	o.mu.Unlock()
	if known || o.journal == nil {
		return last, nil
	}
	return o.journal.last(o.path, c)
}

// append takes whole lines of a client, or of none, and returns the place that they end at, for wait. It waits while too many
// are pending.
func (o *lineOutput) append(ctx context.Context, lines []byte, cull bool, from heard) (end int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.closing || o.full(len(lines)) {
		if o.closing {
			return o.added, ErrClosed
		}
		if err := o.changed.Wait(ctx, &o.mu); err != nil {
			return o.added, err
		}
	}
	before := len(o.pending)
	if before == 0 {
		o.signal()
	}
	if o.pending == nil {
		o.pending, o.spare = o.spare[:0], nil
	}
	if cull {
		var culled int
		o.pending, culled = o.repeats.append(o.pending, lines)
		o.culled += int64(culled)
	} else {
		if size := len(o.pending) + len(lines); size > cap(o.pending) { // in large steps: each is copied
			o.pending = slices.Grow(o.pending, max(size, min(4*cap(o.pending), mostLines))-len(o.pending))
		}
		o.pending = append(o.pending, lines...)
	}
	o.count(len(o.pending) - before)
	if from.last > 0 {
		o.heard[from.client] = from.last
		o.from = append(o.from, from)
	}
	return o.added, nil
}

// full reports whether so many bytes have to wait. They come in once this output has written what it has, if not before.
func (o *lineOutput) full(bytes int) bool {
	return len(o.pending) > 0 && len(o.pending)+bytes > mostLines ||
		o.added > o.written && o.waiting.Load()+int64(bytes) > mostWaiting
}

// count takes note of bytes that came. The lock is held.
func (o *lineOutput) count(bytes int) {
	o.added += int64(bytes)
	o.waiting.Add(int64(bytes))
}

func (o *lineOutput) signal() {
	cond.Signal(o.wake)
}

// wait returns when everything up to a place is written and, if it is to be, on disk.
func (o *lineOutput) wait(ctx context.Context, end int64, onDisk bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.written < end || onDisk && o.synced < end {
		if onDisk && o.asked < end {
			o.asked = end
			o.signal()
		}
		if err := o.changed.Wait(ctx, &o.mu); err != nil {
			return err
		}
	}
	return nil
}

// askSync has everything synced that was added, without waiting for it.
func (o *lineOutput) askSync() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked < o.added {
		o.asked = o.added
		o.signal()
	}
}

// askReopen has the target synced, closed, and opened again.
func (o *lineOutput) askReopen() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reopen, o.asked = true, o.added
	o.signal()
}

// endInterval tells how often the last record was repeated.
func (o *lineOutput) endInterval(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.pending)
	o.pending = o.repeats.end(o.pending, now)
	if len(o.pending) > before {
		o.count(len(o.pending) - before)
		o.signal()
	}
}

// close ends the task when all is written, or ctx ends.
func (o *lineOutput) close(ctx context.Context) {
	o.endInterval(time.Now())
	o.mu.Lock()
	o.closing = true
	o.signal()
	o.mu.Unlock()
	_, _ = o.task.Wait(ctx)
}
