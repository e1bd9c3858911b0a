package meanwhile

import (
	"log/slog"
	"strconv"
	"time"
)

// A TaskOption changes one task or scope: [Run], [Supervise], [Shield], [Go], [Async], [After] and [Every] take them.
type TaskOption interface{ taskOption() }

// A StreamOption changes how a stream runs its items: [Map] and [Each] take them.
type StreamOption interface{ streamOption() }

// An Option may be given to a task, to a stream and to Main. For a stream, Name names the stream, and Timeout, Retry,
// Observe and Attrs hold for each item.
type Option interface {
	TaskOption
	StreamOption
	MainOption
}

type (
	nameOption       string
	idOption         string
	timeoutOption    time.Duration
	backgroundOption struct{}
	observeOption    struct{ f func(Event) }
	unorderedOption  struct{}
	windowOption     int
	maxTasksOption   int
)

func (nameOption) taskOption()        {}
func (idOption) taskOption()          {}
func (nameOption) streamOption()      {}
func (nameOption) mainOption()        {}
func (timeoutOption) taskOption()     {}
func (timeoutOption) streamOption()   {}
func (timeoutOption) mainOption()     {}
func (backgroundOption) taskOption()  {}
func (maxTasksOption) taskOption()    {}
func (observeOption) taskOption()     {}
func (observeOption) streamOption()   {}
func (observeOption) mainOption()     {}
func (retryOption) mainOption()       {}
func (unorderedOption) streamOption() {}
func (windowOption) streamOption()    {}

// Name gives a task, scope or stream the name it has in paths, errors, the tree and the profiler label "task". The default is
// its number among the tasks of its parent, such as #3, and run, supervise, shield or stream for a scope. A name says what
// the task does: give what tells it from others of its kind, such as the number of an order, as [ID].
func Name(name string) Option { return nameOption(name) }

// ID tells a task or scope from others of its name: it stands behind the name in paths, errors and the tree, as in
// "order 4711", and is left out of profiler labels, so that profiles group the tasks of one name.
func ID(id string) TaskOption { return idOption(id) }

// Timeout cancels a task when d is over, all its retries included; for a stream it holds for each item. The task's ctx
// then has the error context.DeadlineExceeded, and the failure of a task that stops by it carries it; a task that returns nil
// all the same has succeeded, unless tasks below it have stopped. The default is no timeout. It panics unless d is positive.
func Timeout(d time.Duration) Option {
	if d <= 0 {
		panic("meanwhile: Timeout(" + d.String() + "): give a positive duration, or leave the option out for no timeout")
	}
	return timeoutOption(d)
}

// Background makes a task one that its scope does not wait for: the scope ends when its other tasks have ended, cancels
// the task with a cause that says so, and waits until it has returned. A failure of the task counts like any other.
func Background() TaskOption { return backgroundOption{} }

// Observe calls f with what happens to the task, or to the stream and its items, and to every task below it. It replaces
// an Observe further up. f is called in the goroutine of the task the event is about, and so by many at once; the task
// waits for it. A panic of f is a failure of the task, and at its end one of the scope that it belongs to.
func Observe(f func(Event)) Option { return observeOption{f} }

// Unordered makes a stream yield results as they come instead of in the order of their inputs.
func Unordered() StreamOption { return unorderedOption{} }

// Window sets how far a stream may run ahead of its loop: the number of items between the oldest that the loop has
// not taken yet and the newest that was started. Their results are what the stream holds in memory. The default is
// 16 times the limit, so that one slow item does not keep the others from going on. It panics unless n is positive; the
// number in force is rounded up to a power of two, and is at most 16,777,216.
func Window(n int) StreamOption {
	mustBePositive("Window", n)
	return windowOption(n)
}

type taskOptions struct {
	name, id   string
	timeout    time.Duration
	background bool
	maxTasks   int // zero for no limit
	observe    func(Event)
	attrs      []slog.Attr
	retry      *RetryPolicy
}

// The type switches here and below, where methods of the options would be shorter, keep the options off the heap.
func (o *taskOptions) read(opts []TaskOption) *taskOptions {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case nameOption:
			o.name = string(opt)
		case idOption:
			o.id = string(opt)
		case timeoutOption:
			o.timeout = time.Duration(opt)
		case backgroundOption:
			o.background = true
		case maxTasksOption:
			o.maxTasks = int(opt)
		case observeOption:
			o.observe = opt.f
		case attrsOption:
			o.attrs = joinAttrs(o.attrs, opt)
		case retryOption:
			o.retry = opt.p
		}
	}
	return o
}

// EventKind says what an Event is about.
type EventKind uint8

// The kinds of events.
const (
	TaskStarted  EventKind = iota + 1 // a task, scope, stream or item began
	TaskEnded                         // it ended: Err and Elapsed say how
	TaskRetrying                      // an attempt failed with Err; after Delay the next one, number Attempt, begins

	// The findings of a [Watch].
	TaskBusy            // a task has kept a processor or a thread busy for Elapsed: Wait says where
	TaskDeadlock        // a task waits for one that waits for it: Wait says where, and for which
	CancellationIgnored // a task goes on though it was canceled Elapsed ago: Wait says where it is
	GoroutineLeaked     // Count goroutines that a task started with a go statement have outlived it: Wait says what they do, Places where they were started
	ThreadsHeld         // Count goroutines hold threads in system calls or C: Places says which tasks, and where
	SchedulingLatency   // goroutines waited up to Elapsed for a processor: Places says which tasks were running
	TasksPileUp         // Count tasks wait at one place and become more: Wait says for what, Path names the oldest

	GoroutineUnreachable // Count goroutines can never go on, see [Leaks]: Wait says what they wait for, Path is that of their task without numbers
)

var eventNames = [...]string{
	TaskStarted: "started", TaskEnded: "ended", TaskRetrying: "retrying", TaskBusy: "busy", TaskDeadlock: "deadlock", CancellationIgnored: "cancellation ignored",
	GoroutineLeaked: "goroutine leaked", ThreadsHeld: "threads held", SchedulingLatency: "scheduling latency", TasksPileUp: "tasks pile up",
	GoroutineUnreachable: "goroutine unreachable",
}

// String returns the name in small letters, such as started, retrying or threads held.
func (k EventKind) String() string {
	if k == 0 || int(k) >= len(eventNames) {
		return "unknown"
	}
	return eventNames[k]
}

// An Event tells an observer what happened to a task.
type Event struct {
	Kind    EventKind
	Path    string        // of the task
	Err     error         // of an ended task, or of the attempt that failed; nil for success
	Elapsed time.Duration // from the start of an ended task to its end, the tasks below it included; see the findings, too
	Attempt int           // of the attempt to come, from 2
	Delay   time.Duration // until the attempt to come

	Wait   Wait     // of a finding: what the task does, and where
	Count  int      // of a finding: how many tasks or goroutines were found so at this place by one look
	Before int      // of TasksPileUp: how many they were an interval of the watch before
	Places []string // of such a finding: at most five, those of the most goroutines first; empty where it cannot be told
}

func mustBePositive(what string, n int) {
	if n <= 0 {
		panic("meanwhile: " + what + "(" + strconv.Itoa(n) + "): give a positive number")
	}
}
