package meanwhile

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A node is a task without its type: the context its function gets, and its place in the tree.
//
// It is a context of its own because one object that is task, context and link of its parent's list costs less than half
// of a goroutine with a standard context of its own. What the standard library needs to treat it as one of its own is in cancel.go. Its
// size counts: what few tasks have is in family and rare.
type node struct {
	base     context.Context // what the task was started with: its parent, if nothing was derived in between
	shared   *shared
	labels   *goroutine.Set // of the goroutine that runs the task; its address identifies the task
	name     *taskName      // nil for none
	canceled atomic.Pointer[cancellation]
	flags    atomic.Uint32
	number   uint32 // from 1: among the parent's tasks, or the item's index plus one
	ident    ident  // identity and kind
	begun    uint32 // when, see tick

	mu     sync.Mutex
	next   *node         // in the list of the parent's family; guarded by the parent's mu
	done   chan struct{} // closed by the cancellation, made by the first who asks
	after  *after        // woken by the cancellation
	ends   *after        // woken by the end of the task; the one of Task.Done, if there is one, is the first
	family *family       // set once, with the first task below
	rare   *rare         // set once
}

// shared is what the tasks of a subtree have in common.
type shared struct {
	foreign *node       // the nearest task whose base is not a task's context but can be canceled
	observe func(Event) // nil for nobody
	attrs   []slog.Attr // of Attrs, those from above first
}

// rare is what most tasks do not have.
type rare struct {
	parent   *node // where base is not the parent itself
	err      error // how the task ended; written before the flag finished
	deadline time.Time
	timer    *time.Timer // of Timeout, or of a shield's grace
	grace    time.Duration
	shielded bool         // the grace has begun
	detach   func() bool  // ends the attachment to a foreign base
	failed   taskFailures // of the tasks below, see top
	unwaited []*node      // below Supervise: failures that nobody has waited for yet
	lost     int          // and those for which there was no room
	begin    time.Time    // only when observed
	clock    *clock       // of the tree, at its root
	stream   stream       // of a stream's scope
}

// stream is that of a stream's scope, if it can tell what it waits for.
func (n *node) stream() stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rare == nil {
		return nil
	}
	return n.rare.stream
}

// tells makes s say what the scope waits for. The scope may be looked at already.
func (n *node) tells(s stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moreLocked().stream = s
}

// A stream says what it waits for.
type stream interface {
	waits() (reason, on string)
	awaited() string
}

type kind uint8

const (
	kindTask kind = iota
	kindRun
	kindSupervise
	kindShield
	kindStream
	kindItem
)

var kindNames = [...]string{"task", "run", "supervise", "shield", "stream", "item"}

const (
	isBackground  uint32 = 1 << iota
	hasBackground        // tasks below are or were background tasks
	isForeign            // rare.parent is set
	isAttached           // to a foreign base, see attach
	isTimed              // rare.deadline is set
	isUsed               // something was attached: a task below, a Done channel, a call, a rare part
	isJoining            // the function has returned and waits for the tasks below
	isClosed             // no task can be started below any more
	isClocked            // rare.clock is set
	isFinished           // the outcome is final
	isObserved           // somebody waited for the task and got its failure
	isCounted            // below Supervise: the failure was not kept, but counted in lost
	isStarted            // the goroutine of the task has its labels
	isCut                // a cancellation from outside kept a task below from finishing its work
	isInterrupted        // the error of the task is that of its cancellation
	isFailedBelow        // the error of the task is the failure of one below it
	hasPlace             // of those that MaxTasks gives to the tasks of the scope above
)

func (n *node) is(flag uint32) bool { return n.flags.Load()&flag != 0 }

var (
	nodeKey  byte // &nodeKey is the key under which a node finds itself
	noShared shared
	closed   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

// from returns the task that ctx carries, or nil.
func from(ctx context.Context) *node {
	if n, ok := ctx.(*node); ok {
		return n
	}
	n, _ := ctx.Value(&nodeKey).(*node)
	return n
}

// parent returns the task that n is below, or nil for a root.
func (n *node) parent() *node {
	if p, ok := n.base.(*node); ok {
		return p
	}
	if n.is(isForeign) {
		return n.rare.parent
	}
	return nil
}

// use marks n as one that has more to it than a function; the caller holds mu. It returns the flags.
func (n *node) use() uint32 {
	if flags := n.flags.Load(); flags&isUsed != 0 {
		return flags
	}
	return n.flags.Or(isUsed)
}

// open puts n into the tree: below the task that ctx carries, or as a root.
func (n *node) open(ctx context.Context, kind kind, o *taskOptions) {
	n.base, n.shared = ctx, &noShared
	parent, own := ctx.(*node)
	if !own {
		if parent = from(ctx); parent != nil {
			n.more().parent = parent
			n.flags.Or(isForeign)
		}
	}
	if parent != nil {
		n.shared = parent.shared
	}
	n.ident = newIdent(0, kind)
	if o != nil {
		n.configure(o)
	}
	if kind == kindShield && n.shared.foreign != nil {
		parent.pull(true) // a cancellation that comes begins the grace
		n.shared = &shared{observe: n.shared.observe, attrs: n.shared.attrs}
	}
	foreign := !own && obeys(ctx, parent)
	if foreign && kind != kindShield {
		n.shared = &shared{foreign: n, observe: n.shared.observe, attrs: n.shared.attrs}
	}
	if n.shared.observe != nil {
		n.more().begin = time.Now()
	}
	var callers any
	if !own {
		callers = callersLabels(ctx, parent)
	}
	if parent != nil {
		n.link(parent, callers)
	} else {
		n.ident, n.begun = newIdent(nextID(), kind), began()
		n.labels = goroutine.NewSet(rootLabels(ctx, callers, n.labelName()))
	}
	if foreign && kind == kindShield {
		n.attach() // the others ask for a cancellation, and attach themselves only when something below waits: see pull
	}
}

// obeys reports whether ctx, which is no task's own, can be canceled otherwise than with its task.
func obeys(ctx context.Context, parent *node) bool {
	done := ctx.Done()
	return done != nil && (parent == nil || parent.Done() != done)
}

// tellStart is called where a panic of the observer is one of n's function.
func (n *node) tellStart() {
	if f := n.shared.observe; f != nil {
		f(Event{Kind: TaskStarted, Path: n.path()})
	}
}

func (n *node) configure(o *taskOptions) {
	if o.name != "" || o.id != "" {
		n.name = newTaskName(o.name, o.id)
	}
	if o.background {
		n.flags.Or(isBackground)
	}
	if o.observe != nil {
		n.shared = &shared{foreign: n.shared.foreign, observe: o.observe, attrs: n.shared.attrs}
	}
	if len(o.attrs) > 0 {
		s := *n.shared
		s.attrs = joinAttrs(s.attrs, o.attrs)
		n.shared = &s
	}
	if timeout := o.timeout; timeout > 0 {
		n.flags.Or(isTimed)
		r := n.more()
		r.deadline = time.Now().Add(timeout)
		r.timer = time.AfterFunc(timeout, func() {
			cause := &timedOut{fmt.Sprintf("the timeout of %v is over", timeout)}
			n.cancel(&cancellation{err: context.DeadlineExceeded, cause: cause, from: n})
		})
	}
}

// attach has the standard library report the cancellation of the base, in a goroutine of its own.
func (n *node) attach() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.use()&(isAttached|isFinished) != 0 {
		return
	}
	n.flags.Or(isAttached)
	n.moreLocked().detach = context.AfterFunc(n.base, n.cancelFromBase)
}

func (n *node) cancelFromBase() {
	c := &cancellation{err: n.base.Err(), cause: context.Cause(n.base), from: n}
	if n.kind() == kindShield {
		n.startGrace(c)
		return
	}
	n.cancel(c)
}

// pull asks the foreign bases above for a cancellation that has not come yet: the standard library reports one in a
// goroutine of its own, while Err of a standard child context tells it at once. Where that goroutine is on its way down the
// tree already, n does not wait for it. With wait, pull attaches n to those bases, so that a cancellation will come. It
// never looks beyond a shield, whose subtree has no foreign base above.
func (n *node) pull(wait bool) {
	for f := n.shared.foreign; f != nil; {
		if f.canceled.Load() == nil {
			if f.base.Err() != nil {
				f.cancelFromBase()
			} else if wait && !f.is(isAttached) {
				f.attach()
			}
		}
		if c := f.canceled.Load(); c != nil && n.cancellation() == nil {
			n.cancel(c)
		}
		p := f.parent()
		if p == nil {
			return
		}
		f = p.shared.foreign
	}
}

// more returns n's rare part and makes it if need be.
func (n *node) more() *rare {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.moreLocked()
}

func (n *node) moreLocked() *rare {
	n.use()
	if n.rare == nil {
		n.rare = new(rare)
	}
	return n.rare
}

// cancellation is what canceled n, or that n has ended, or nil.
func (n *node) cancellation() *cancellation {
	c := n.canceled.Load()
	if c == nil && n.is(isFinished) {
		c = ended
	}
	return c
}

// Deadline implements context.Context.
func (n *node) Deadline() (deadline time.Time, ok bool) {
	base := n.base
	if n.is(isTimed) {
		n.mu.Lock()
		deadline, ok = n.rare.deadline, true
		n.mu.Unlock()
	}
	if n.kind() == kindShield {
		return deadline, ok
	}
	if d, has := base.Deadline(); has && (!ok || d.Before(deadline)) {
		return d, true
	}
	return deadline, ok
}

// Done implements context.Context.
func (n *node) Done() <-chan struct{} {
	n.pull(true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done == nil {
		if n.use()&isFinished != 0 || n.canceled.Load() != nil {
			n.done = closed
		} else {
			n.done = make(chan struct{})
		}
	}
	return n.done
}

// Err implements context.Context.
func (n *node) Err() error {
	if n.shared.foreign != nil {
		n.pull(false)
	}
	c := n.cancellation()
	if c == nil {
		return nil
	}
	// Whoever cancels holds mu until Done is closed; Err must not tell it earlier.
	n.mu.Lock()
	defer n.mu.Unlock()
	return c.err
}

// Value implements context.Context.
func (n *node) Value(key any) any {
	if key == any(&nodeKey) {
		return n
	}
	if key == causeKey {
		if c := n.cancellation(); c != nil {
			return c.standard().Value(key)
		}
		return nil
	}
	if key == goroutine.Key {
		return n.labelValue()
	}
	for {
		base, ok := n.base.(*node)
		if !ok {
			return n.base.Value(key)
		}
		n = base
	}
}

// String describes the context, as those of the standard library do.
func (n *node) String() string { return kindNames[n.kind()] + " " + n.path() }
