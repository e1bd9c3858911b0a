package linefile

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	maxClients  = 100_000  // clients whose numbers are in memory
	mostLines   = 1 << 20  // bytes that wait to be written; Append waits while there are more
	mostWaiting = 64 << 20 // the same in all outputs of a server together; an output without waiting lines accepts some nevertheless
	idleOutput  = time.Minute
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 5 * time.Second
	lineDamaged = "lines were not written"
)

// A Target is a destination of lines: a file, a socket or a writer. Only the task of its output calls it.
type Target interface {
	write(ctx context.Context, lines []byte, from []Received) (n int, err error) // opens it; the first n bytes are not passed again
	sync() error
	close() error // until the next write
}

// An Output writes lines in a task of its own, while the callers of Append continue: the lines that arrive during one write are written
// by the next one. A write that fails is tried again until it succeeds.
type Output struct {
	name    string
	target  Target
	journal *Journal // nil without one, or if the target is not a file
	path    string   // in the journal
	memory  *Memory
	logger  *slog.Logger
	task    *meanwhile.Task[struct{}]
	wake    chan struct{}

	mu       sync.Mutex
	received map[logs.Client]uint64 // the highest number received from each client; of clients that are missing, the journal has it
	from     []Received             // of the pending lines
	pending  []byte
	spare    []byte // the buffer of the next pending lines
	added    int64  // bytes in total
	written  int64
	synced   int64
	asked    int64 // the place up to which a sync was asked for
	reopen   bool
	closing  bool
	failure  error     // of the newest write; nil if it succeeded
	changed  cond.Cond // of these
	repeats  repeats
	repeated int64
	lost     int64 // bytes that were not written before the end
}

// NewOutput returns an output that writes to a target, once Start was called. All outputs of a server share the memory.
func NewOutput(name string, target Target, memory *Memory, logger *slog.Logger) *Output {
	o := &Output{name: name, target: target, memory: memory, logger: logger, wake: make(chan struct{}, 1), received: map[logs.Client]uint64{}}
	if f, ok := target.(*File); ok {
		o.journal, o.path = f.journal, f.place
		f.unsynced.memory = memory
	}
	return o
}

// Name returns its name in statistics and in the log: the path of a file, or the address of a socket.
func (o *Output) Name() string { return o.name }

// Journaled reports whether lines of clients are written to a journal first.
func (o *Output) Journaled() bool { return o.journal != nil }

// Stats is the state of a line output.
type Stats struct {
	Written  int64 // bytes of lines
	Waiting  int64 // bytes of lines that wait to be written
	Repeated int64 // lines that repeated the one before, and were counted instead of written
	Lost     int64 // bytes of lines that could not be written before Close returned
	Failure  error // the error of the last write; nil if it succeeded
}

// Stats returns the state of the output.
func (o *Output) Stats() Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Stats{Written: o.written, Waiting: o.added - o.written, Repeated: o.repeated, Lost: o.lost, Failure: o.failure}
}

// Start starts the task that writes, in the scope of ctx.
func (o *Output) Start(ctx context.Context) {
	if f, ok := o.target.(*File); ok {
		f.ctx = ctx
	}
	o.task = meanwhile.Go(ctx, o.run, meanwhile.Name("write "+o.name))
}

// Last returns the number up to which the output has the records of a client.
func (o *Output) Last(c logs.Client) (uint64, error) {
	o.mu.Lock()
	last, known := o.received[c]
	o.mu.Unlock()
	if known || o.journal == nil {
		return last, nil
	}
	return o.journal.last(o.path, c)
}

// Append adds whole lines, of a client or of none, and returns the place at which they end, for Wait. It waits while too many bytes wait
// to be written.
func (o *Output) Append(ctx context.Context, lines []byte, dedupe bool, from Received) (end int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.closing || o.full(len(lines)) {
		if o.closing {
			return o.added, logs.ErrClosed
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
	if dedupe {
		var repeated int
		o.pending, repeated = o.repeats.append(o.pending, lines)
		o.repeated += int64(repeated)
	} else {
		if size := len(o.pending) + len(lines); size > cap(o.pending) { // it grows in large steps, since each copies all
			o.pending = slices.Grow(o.pending, max(size, min(4*cap(o.pending), mostLines))-len(o.pending))
		}
		o.pending = append(o.pending, lines...)
	}
	o.count(len(o.pending) - before)
	if from.Last > 0 {
		o.received[from.Client] = from.Last
		o.from = append(o.from, from)
	}
	return o.added, nil
}

// full reports whether so many bytes have to wait for buffer space. An output without waiting lines always accepts them.
func (o *Output) full(bytes int) bool {
	return len(o.pending) > 0 && len(o.pending)+bytes > mostLines ||
		o.added > o.written && o.memory.waiting.Load()+int64(bytes) > mostWaiting
}

// count counts bytes that were added. The lock is held.
func (o *Output) count(bytes int) {
	o.added += int64(bytes)
	o.memory.waiting.Add(int64(bytes))
}

func (o *Output) signal() {
	cond.Signal(o.wake)
}

// Wait returns when everything up to a place is written and, with onDisk, synced.
func (o *Output) Wait(ctx context.Context, end int64, onDisk bool) error {
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

// AskSync starts a sync of everything that was added, without waiting for it.
func (o *Output) AskSync() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked < o.added {
		o.asked = o.added
		o.signal()
	}
}

// AskReopen makes the output sync, close and reopen its target.
func (o *Output) AskReopen() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reopen, o.asked = true, o.added
	o.signal()
}

// EndInterval ends an interval of deduplication: it writes how often the last record was repeated.
func (o *Output) EndInterval(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.pending)
	o.pending = o.repeats.end(o.pending, now)
	if len(o.pending) > before {
		o.count(len(o.pending) - before)
		o.signal()
	}
}

// Close ends the task when everything is written, or when ctx is canceled.
func (o *Output) Close(ctx context.Context) {
	o.EndInterval(time.Now())
	o.mu.Lock()
	o.closing = true
	o.signal()
	o.mu.Unlock()
	_, _ = o.task.Wait(ctx)
}
