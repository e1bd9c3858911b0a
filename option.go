package meanwhile

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A TaskOption configures one task or scope: [Run], [Supervise], [Shield], [Go], [Async] and [Every] accept them.
type TaskOption interface{ taskOption() }

// A StreamOption configures how a stream runs its items: [Map] and [Each] accept them.
type StreamOption interface{ streamOption() }

// An Option is both a TaskOption and a StreamOption. For a stream, Name names the stream, and Timeout, Retry, Observe and
// Attrs apply to each item.
type Option interface {
	TaskOption
	StreamOption
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
func (timeoutOption) taskOption()     {}
func (timeoutOption) streamOption()   {}
func (backgroundOption) taskOption()  {}
func (maxTasksOption) taskOption()    {}
func (observeOption) taskOption()     {}
func (observeOption) streamOption()   {}
func (unorderedOption) streamOption() {}
func (windowOption) streamOption()    {}

// Name sets the name of a task, scope or stream in paths, errors, the tree and the profiler label "task". The default is its
// number among the tasks of its parent, such as #3, and run, supervise, shield or stream for a scope. A name says what the
// task does: pass what distinguishes it from others of its kind, such as an order number, as [ID].
func Name(name string) Option { return nameOption(name) }

// ID distinguishes a task or scope from others of its name: it follows the name in paths, errors and the tree, as in
// "order 4711", and is left out of profiler labels, so that profiles group the tasks of one name.
func ID(id string) TaskOption { return idOption(id) }

// Timeout cancels a task after d, which includes all its retries; for a stream it applies to each item. The task's ctx then
// has the error context.DeadlineExceeded, and the failure of a task that stops because of it carries that error; a task that
// still returns nil has succeeded, unless tasks below it were stopped. The default is no timeout. It panics unless d is
// positive.
func Timeout(d time.Duration) Option {
	if d <= 0 {
		panic("meanwhile: Timeout(" + d.String() + "): give a positive duration, or leave the option out for no timeout")
	}
	return timeoutOption(d)
}

// InBackground makes a task a background task, for which its scope does not wait: when its other tasks have ended, the scope
// cancels the task with a cause that says so, and waits until it has returned. A failure of the task counts like any other.
func InBackground() TaskOption { return backgroundOption{} }

// Observe calls f with the events of a task, or of a stream and its items, and of every task below it. It replaces an
// Observe given further up in the tree. f is called in the goroutine of the task that the event is about, so possibly by
// many goroutines concurrently; the task waits for f. A panic of f is a failure of the task or, at the task's end, of the
// scope that it belongs to.
func Observe(f func(Event)) Option { return observeOption{f} }

// Attrs adds attributes to the log records of a task and of every task below it: the Handler of package tasklog adds them to
// records, and so does every handler that calls that package's Attrs. For a stream they apply to its items. The attributes
// of several Attrs add up. They must not be changed afterwards.
func Attrs(attrs ...slog.Attr) Option { return attrsOption(attrs) }

type attrsOption []slog.Attr

func (attrsOption) taskOption()   {}
func (attrsOption) streamOption() {}

// Unordered makes a stream yield results as they become ready instead of in the order of their inputs.
func Unordered() StreamOption { return unorderedOption{} }

// Window sets how far a stream may run ahead of its loop: the number of items between the oldest that the loop has not
// received yet and the newest that was started. The stream holds their results in memory. The default is 16 times the limit,
// so that one slow item does not hold up the others. It panics unless n is positive; the number in force is rounded up to a
// power of two, and is at most 16,777,216.
func Window(n int) StreamOption {
	mustBePositive("Window", n)
	return windowOption(n)
}

type taskOptions struct {
	scope.Settings
	maxTasks int // zero for no limit
	retry    *retryPolicy
}

// ofTask returns the options that concern the task itself; o may be nil.
func (o *taskOptions) ofTask() *scope.Settings {
	if o == nil {
		return nil
	}
	return &o.Settings
}

// The type switches here and in streamOptions.read keep the options off the heap; methods of the options would be shorter.
func (o *taskOptions) read(opts []TaskOption) *taskOptions {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case nameOption:
			o.Name = string(opt)
		case idOption:
			o.ID = string(opt)
		case timeoutOption:
			o.Timeout = time.Duration(opt)
		case backgroundOption:
			o.Background = true
		case maxTasksOption:
			o.maxTasks = int(opt)
		case observeOption:
			o.Observe = newObserver(opt.f)
		case attrsOption:
			o.Attrs = scope.JoinAttrs(o.Attrs, opt)
		case retryOption:
			o.retry = opt.p
		}
	}
	return o
}

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	TaskStarted  EventKind = iota + 1 // a task, scope, stream or item started
	TaskEnded                         // it ended: see Err and Elapsed
	TaskRetrying                      // an attempt failed with Err; the next one, number Attempt, starts after Delay

)

var eventNames = [...]string{TaskStarted: "started", TaskEnded: "ended", TaskRetrying: "retrying"}

// String returns the name in lower case, such as started or retrying.
func (k EventKind) String() string {
	if k == 0 || int(k) >= len(eventNames) {
		return "unknown"
	}
	return eventNames[k]
}

// An Event describes what happened to a task; [Observe] passes it to a function.
type Event struct {
	Kind    EventKind
	Path    string        // of the task
	Err     error         // of an ended task, or of the attempt that failed; nil for success
	Elapsed time.Duration // from the start of an ended task to its end, the tasks below it included
	Attempt int           // number of the next attempt, from 2
	Delay   time.Duration // until the next attempt
}

// An observerFunc passes the events of a task to a function of the program.
type observerFunc func(Event)

func newObserver(f func(Event)) scope.Observer {
	if f == nil {
		return nil
	}
	return observerFunc(f)
}

func (f observerFunc) TaskStarted(path string) { f(Event{Kind: TaskStarted, Path: path}) }

func (f observerFunc) TaskEnded(path string, err error, elapsed time.Duration) {
	f(Event{Kind: TaskEnded, Path: path, Err: err, Elapsed: elapsed})
}

func mustBePositive(what string, n int) {
	if n <= 0 {
		panic("meanwhile: " + what + "(" + strconv.Itoa(n) + "): give a positive number")
	}
}
