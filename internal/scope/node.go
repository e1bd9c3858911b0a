package scope

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Node is a task without its type: the context its function gets, and its place in the tree.
//
// It is a context of its own because one object that is task, context and list entry costs less than half of a goroutine with a standard
// context. What the standard library needs to treat it as one of its own is in cancel.go. Its size matters: fields that few tasks need
// are in children and lazyFields.
type Node struct {
	Parent   *Node // the task it is below; nil for a root
	shared   *shared
	Labels   *goroutine.Set // of the goroutine that runs the task; its address identifies the task
	name     *taskName      // nil for none
	canceled atomic.Pointer[cancellation]
	flags    atomic.Uint32
	Number   uint32 // from 1: among the parent's tasks, or the item's index plus one
	ident    ident  // identity and kind
	begun    uint32 // when, see tick

	mu         sync.Mutex
	next       *Node         // in the list of the parent's children; guarded by the parent's mu
	done       chan struct{} // made by the first call of Done, closed by the cancellation
	after      *After        // woken by the cancellation
	ends       *After        // woken by the end of the task; the one of Task.Done, if there is one, is the first
	childTasks *children     // set once: at the start if the base is not the parent, else with the first task below
	lazy       *lazyFields   // set once
}

// shared is what the tasks of a subtree have in common.
type shared struct {
	foreign *Node       // the nearest task whose base is not a task's context but can be canceled
	observe Observer    // nil for none
	attrs   []slog.Attr // of the option Attrs, those of tasks above first
}

// lazyFields are the fields that most tasks do not need.
type lazyFields struct {
	err      error // how the task ended; written before IsFinished is set
	deadline time.Time
	timer    *time.Timer // of Timeout, or of a shield's grace
	Grace    time.Duration
	shielded bool        // the grace period has started
	detach   func() bool // ends the attachment to a foreign base
	failed   Failures    // of the tasks below, where n is their top
	first    error       // the first failure of a task below, where n is not their top
	unwaited []*Node     // below Supervise: failures that nobody has waited for yet
	lost     int         // the number of those for which unwaited had no space
	started  time.Time   // only when observed
	clock    *clock      // of the tree, at its root
	stream   stream      // of a stream's scope
}

// Stream returns the stream whose scope n is, if it can report what it waits for, or nil.
func (n *Node) Stream() stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lazy == nil {
		return nil
	}
	return n.lazy.stream
}

// ShowStream sets the stream that reports what the scope waits for. Snapshots may read n at the same time.
func (n *Node) ShowStream(s stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moreLocked().stream = s
}

// A stream reports what it waits for.
type stream interface {
	Waits() (reason, on string)
	Awaited() string
}

type Kind uint8

const (
	KindTask Kind = iota
	KindRun
	KindSupervise
	KindShield
	KindStream
	KindItem
)

var KindNames = [...]string{"task", "run", "supervise", "shield", "stream", "item"}

const (
	IsBackground  uint32 = 1 << iota
	hasBackground        // tasks below are or were background tasks
	isAttached           // to a foreign base, see attach
	isTimed              // lazy.deadline is set
	isUsed               // something was attached: a Done channel, a call, a lazily allocated part
	hasTasks             // tasks are or were below
	isClosed             // no task can be started below any more; a childCount says so as well
	isClocked            // lazy.clock is set
	IsFinished           // the outcome is final
	isObserved           // a caller waited for the task and got its failure
	isCounted            // below Supervise: the failure was not kept, but counted in lost
	IsStarted            // the goroutine of the task has its labels
	isCut                // a cancellation from outside kept a task below from finishing its work
	isInterrupted        // the error of the task is that of its cancellation
	isFailedBelow        // the error of the task is the failure of one below it
	hasPlace             // the task occupies one of the places that MaxTasks gives to the scope above
)

func (n *Node) Is(flag uint32) bool { return n.flags.Load()&flag != 0 }

var (
	nodeKey  byte // &nodeKey is the key under which a node finds itself
	noShared shared
	closed   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

// base returns the context that the task was started with: its parent, or a context that is not that of a task.
func (n *Node) base() context.Context {
	if n.ident.isForeign() {
		return n.childTasks.base
	}
	return n.Parent
}

// IsAbove reports whether n is the task below itself, or above it.
func (n *Node) IsAbove(below *Node) bool {
	for ; below != nil; below = below.Parent {
		if below == n {
			return true
		}
	}
	return false
}

// use marks n as a task to which something was attached; the caller holds mu. It returns the flags.
func (n *Node) use() uint32 {
	if flags := n.flags.Load(); flags&isUsed != 0 {
		return flags
	}
	return n.flags.Or(isUsed)
}

// Open puts n into the tree: below the task that ctx carries, or as a root.
func (n *Node) Open(ctx context.Context, kind Kind, o *Settings) {
	n.shared, n.ident = &noShared, newIdent(0, kind)
	parent, own := ctx.(*Node)
	if !own {
		parent = From(ctx)
		n.ownChildren().base = ctx
		n.ident |= isForeign
	}
	n.Parent = parent
	if parent != nil {
		n.shared = parent.shared
	}
	if o != nil {
		n.configure(o)
	}
	if kind == KindShield && n.shared.foreign != nil {
		parent.Pull(true) // a later cancellation starts the grace period
		n.shared = &shared{observe: n.shared.observe, attrs: n.shared.attrs}
	}
	foreign := !own && canceledApart(ctx, parent)
	if foreign && kind != KindShield {
		n.shared = &shared{foreign: n, observe: n.shared.observe, attrs: n.shared.attrs}
	}
	if n.shared.observe != nil {
		n.More().started = time.Now()
	}
	var callers any
	if !own {
		callers = callersLabels(ctx, parent)
	}
	if parent != nil {
		n.link(parent, callers)
	} else {
		n.begun = began()
		f := n.childTasks
		f.refill(2) // for itself and for the first task below
		f.identify(n, rootLabels(callers, n.labelName()))
	}
	if foreign && kind == KindShield {
		n.attach() // the others check for a cancellation, and attach only when something below waits: see Pull
	}
}

// canceledApart reports whether ctx, which is not that of a task, can be canceled independently of its task.
func canceledApart(ctx context.Context, parent *Node) bool {
	done := ctx.Done()
	return done != nil && (parent == nil || parent.Done() != done)
}

// Attributes returns the attributes of the option Attrs, from the root of the tree on.
func (n *Node) Attributes() []slog.Attr { return n.shared.attrs }

// Observer returns the observer of n, or nil.
func (n *Node) Observer() Observer { return n.shared.observe }

// TellStart reports the start of n to its observer. Its caller treats a panic of the observer as one of n's function.
func (n *Node) TellStart() {
	if f := n.shared.observe; f != nil {
		f.TaskStarted(n.Path())
	}
}

func (n *Node) configure(o *Settings) {
	if o.Name != "" || o.ID != "" {
		n.name = newTaskName(o.Name, o.ID)
	}
	if o.Background {
		n.flags.Or(IsBackground)
	}
	if o.Observe != nil {
		n.shared = &shared{foreign: n.shared.foreign, observe: o.Observe, attrs: n.shared.attrs}
	}
	if len(o.Attrs) > 0 {
		s := *n.shared
		s.attrs = JoinAttrs(s.attrs, o.Attrs)
		n.shared = &s
	}
	if timeout := o.Timeout; timeout > 0 {
		n.flags.Or(isTimed)
		r := n.More()
		r.deadline = time.Now().Add(timeout)
		r.timer = time.AfterFunc(timeout, func() {
			cause := &timedOut{fmt.Sprintf("the timeout of %v is over", timeout)}
			n.Cancel(&cancellation{err: context.DeadlineExceeded, Cause: cause, from: n})
		})
	}
}

// attach makes the standard library report the cancellation of the base, which it does in a separate goroutine. The base may be of a type
// of the program's, so its methods are called without n's mutex.
func (n *Node) attach() {
	n.mu.Lock()
	if n.use()&(isAttached|IsFinished) != 0 {
		n.mu.Unlock()
		return
	}
	n.flags.Or(isAttached)
	n.mu.Unlock()
	detach := context.AfterFunc(n.base(), n.cancelFromBase)
	n.mu.Lock()
	finished := n.Is(IsFinished) // then release may have run without detach
	if !finished {
		n.moreLocked().detach = detach
	}
	n.mu.Unlock()
	if finished {
		detach()
	}
}

func (n *Node) cancelFromBase() {
	c := &cancellation{err: n.base().Err(), Cause: context.Cause(n.base()), from: n}
	if n.Kind() == KindShield {
		n.startGrace(c)
		return
	}
	n.Cancel(c)
}

// Pull checks the foreign bases above for a cancellation that has not reached n yet: the standard library reports one in a separate
// goroutine, while Err of a standard child context reports it at once. If that goroutine is already canceling the tree, n does not wait
// for it. With wait, Pull attaches to those bases, so that a later cancellation reaches n. It never looks beyond a shield, whose subtree
// has no foreign base above.
func (n *Node) Pull(wait bool) {
	for f := n.shared.foreign; f != nil; {
		if f.canceled.Load() == nil {
			if f.base().Err() != nil {
				f.cancelFromBase()
			} else if wait && !f.Is(isAttached) {
				f.attach()
			}
		}
		if c := f.canceled.Load(); c != nil && n.Cancellation() == nil {
			n.Cancel(c)
		}
		p := f.Parent
		if p == nil {
			return
		}
		f = p.shared.foreign
	}
}

// More returns n's lazily allocated fields, and allocates them if necessary.
func (n *Node) More() *lazyFields {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.moreLocked()
}

func (n *Node) moreLocked() *lazyFields {
	n.use()
	if n.lazy == nil {
		n.lazy = new(lazyFields)
	}
	return n.lazy
}

// Cancellation returns what canceled n, or ended if n has ended, or nil.
func (n *Node) Cancellation() *cancellation {
	c := n.canceled.Load()
	if c == nil && n.Is(IsFinished) {
		c = ended
	}
	return c
}

// Deadline implements context.Context.
func (n *Node) Deadline() (deadline time.Time, ok bool) {
	if n.Is(isTimed) {
		n.mu.Lock()
		deadline, ok = n.lazy.deadline, true
		n.mu.Unlock()
	}
	if n.Kind() == KindShield {
		return deadline, ok
	}
	if d, has := n.base().Deadline(); has && (!ok || d.Before(deadline)) {
		return d, true
	}
	return deadline, ok
}

// Done implements context.Context.
func (n *Node) Done() <-chan struct{} {
	n.Pull(true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done == nil {
		if n.use()&IsFinished != 0 || n.canceled.Load() != nil {
			return closed // not stored: a cancellation that comes after the end closes n.done
		}
		n.done = make(chan struct{})
	}
	return n.done
}

// Err implements context.Context.
func (n *Node) Err() error {
	if n.shared.foreign != nil {
		n.Pull(false)
	}
	c := n.Cancellation()
	if c == nil {
		return nil
	}
	// Whoever cancels holds mu until Done is closed; Err must not report it earlier.
	n.mu.Lock()
	defer n.mu.Unlock()
	return c.err
}

// Value implements context.Context.
func (n *Node) Value(key any) any {
	if key == any(&nodeKey) {
		return n
	}
	if key == causeKey {
		if c := n.Cancellation(); c != nil {
			return c.standard().Value(key)
		}
		return nil
	}
	if key == goroutine.Key {
		return n.labelValue()
	}
	for !n.ident.isForeign() {
		n = n.Parent
	}
	return n.childTasks.base.Value(key)
}

// String describes the context, as those of the standard library do.
func (n *Node) String() string { return KindNames[n.Kind()] + " " + n.Path() }
