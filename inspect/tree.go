package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Node describes a task of the tree, as it was when [Tree] or [Trees] read it. It keeps the task from being garbage collected, so do not store
// it for long.
type Node struct {
	ID    uint32        `json:"id"`            // identifies the task among all that run in the process
	Name  string        `json:"name"`          // the last part of the path
	Path  string        `json:"path"`          // from the root of the tree
	Kind  string        `json:"kind"`          // task, run, supervise, shield, stream, item or blocking
	State string        `json:"state"`         // running, joining (the function has returned, tasks below run), canceled or abandoned
	Age   time.Duration `json:"age,omitempty"` // since the task started, to 10 ms; zero if unknown, see Tree
	Wait  Wait          `json:"wait"`          // what the task's own function waits for
	Tasks []Node        `json:"tasks,omitempty"`
	More  int           `json:"more,omitempty"` // number of tasks below that were left out, such as by package live
	Group []Node        `json:"-"`              // the tasks that the Node stands for, if it was created by Grouped

	n         *scope.Node
	call      *scope.BlockingCall
	stack     *stack        // nil if unknown
	unchanged time.Duration // for how long snapshots have found it at its place, or in its wait if that can be identified
}

// A Wait describes what a task waits for, and where.
type Wait struct {
	// For is the kind of the wait:
	//
	//	running       no wait: the task uses a processor, or is about to, or helps or waits for the garbage collector
	//	start         its goroutine has not started yet
	//	network       I/O on a connection, a listener or a name server; On says which call, see docs/hangs.md
	//	HTTP connection pool    a connection of an http.Transport that has the maximum number to the host, all of them in use
	//	database pool a connection of a sql.DB or pgxpool.Pool; "new resource" in On: the pool is making one
	//	file          I/O on a pipe, a terminal or another file that the runtime can poll; On says which call
	//	process       the end of a process, which can hold a thread
	//	receive, send a channel
	//	select        the first of several channels
	//	mutex, rwmutex, waitgroup, cond, once    those of package sync
	//	sleep         until a time: Until
	//	system call   the kernel, holding a thread; On names the call, or the function that takes its number
	//	C call        a function in C, or another language behind cgo, holding a thread; On names the function
	//	task          another task, which On names by its path
	//	tasks         the tasks below, after the task's own function has returned
	//	read          a reader, such as that of meanwhile.Lines
	//	semaphore     a meanwhile.Semaphore; On says how much of it is held, where it was created, and which tasks acquired it; or one of golang.org/x/sync
	//	blocking      a place among the calls of meanwhile.Blocking, or the call itself
	//	rate          its turn at a meanwhile.Pacer: Until
	//	retry         the next attempt of meanwhile.Retry: Until
	//	stream        the next result of a stream; On names the item
	//	source        the next value of a stream's source, or of iter.Pull
	//	limit         running items or tasks: there are as many as the meanwhile.Limit of a stream, or the meanwhile.MaxTasks of a scope, allows
	//	full          the loop over the stream, which has not received the results that are ready
	//	signal        a signal
	//	nothing       an empty select, for ever
	//	unknown       not known
	For  string `json:"for"`
	On   string `json:"on,omitempty"`
	Call string `json:"call,omitempty"` // the function of another package that the caller's own code called
	Func string `json:"func,omitempty"` // the function of the caller's own code
	File string `json:"file,omitempty"` // and its place
	Line int    `json:"line,omitempty"`

	Until time.Time `json:"until,omitzero"` // when the wait will end by itself, if that is known
	// Seen is how long snapshots have found the task in this very wait: it has lasted that long, or longer. It is zero if the wait cannot be
	// distinguished from the next one at the same place, which is the case for channels, locks, connections and everything else outside of
	// package meanwhile.
	Seen time.Duration `json:"seen,omitempty"`
	// Snapshots is how many snapshots in a row, including this one, have found the task waiting at this place. Between them the task may have
	// been elsewhere.
	Snapshots int `json:"snapshots,omitempty"`
	// Deadlock reports whether the task waits for a task that waits for it: for its end, or for a semaphore that it acquired. A semaphore counts
	// as long as each task has released what it acquired, see docs/hangs.md.
	Deadlock bool `json:"deadlock,omitempty"`
}

// A Frame is a function that a task is in, with the line.
type Frame struct {
	Func string `json:"func"` // the name with its package's path
	File string `json:"file"`
	Line int    `json:"line"`
}

// Tree returns the task that ctx belongs to with everything that runs below it, the oldest first, and what each task waits for. It is the zero
// Node when ctx carries no task.
//
// Tree reads the tasks one by one, without stopping them: tasks that start or end during the call may be included or not. The goroutines are
// read as they are at one moment: the program is stopped for some microseconds, or for some milliseconds if a processor is slow to stop. It may
// be called concurrently; the calls run one after the other.
//
// Tasks record when they started under process.Main, while a [Watch] runs, and after the first snapshot, so in other programs the first snapshot
// has no ages.
func Tree(ctx context.Context) Node {
	n := scope.From(ctx)
	if n == nil {
		return Node{}
	}
	trees := takeSnapshot([]*scope.Node{n}, false)
	if len(trees) == 0 {
		return Node{}
	}
	return trees[0]
}

// Trees returns all trees of the process: every scope or stream that was started with a ctx without a task, the oldest first, with everything
// that runs below it. Calls of [meanwhile.Blocking] whose task has ended come last.
func Trees() []Node { return takeSnapshot(scope.Roots(), true) }

// Stack returns the functions that the task is in, the innermost first, up to where the task begins, or where the scope that it waits for
// begins. It is nil when the stack is unknown, and for a Node that was read from JSON.
func (n Node) Stack() []Frame {
	if n.stack == nil {
		return nil
	}
	return framesOf(n.stack.calls)
}

func framesOf(calls []*location) (frames []Frame) {
	for _, p := range calls {
		frames = append(frames, p.Frame)
	}
	return frames
}

// Cancel cancels the task and everything below it, as [meanwhile.Task.Cancel] does, and reports whether the task was still running. It returns
// false for a Node that was read from JSON, and for a call of [meanwhile.Blocking].
func (n Node) Cancel(cause error) bool {
	t := n.n
	if t == nil || t.Is(scope.IsFinished) {
		return false
	}
	return t.CancelBecause(cause)
}

// String draws the tree, one task per line: its name, its state unless it is running, its age if that is at least one second, what it waits for,
// and where. Siblings that are alike share a line, as in [Node.Grouped].
//
//	shop, 2m4s: tasks
//	├─ server, 2m4s: network accept, main.go:31 (http.(*Server).Serve)
//	├─ mailer (canceled), 12s: receive, mail.go:77
//	└─ index, 2m4s: full 64 results
//	   ├─ [17], 3s: mutex, index.go:40, here in 3 snapshots
//	   └─ [18] … [80], 63 items, oldest 2s: network HTTP answer, index.go:31 (http.(*Client).Do)
func (n Node) String() string {
	var b strings.Builder
	n.Grouped().draw(&b, "", "")
	return b.String()
}

func (n Node) draw(b *strings.Builder, first, rest string) {
	b.WriteString(first)
	b.WriteString(n.Name)
	if n.State != "running" {
		b.WriteString(" (" + n.State + ")")
	}
	age, upTo := ", ", ""
	if n.Group != nil {
		fmt.Fprintf(b, ", %d %s", len(n.Group), n.noun())
		age, upTo = ", oldest ", "up to "
	}
	if n.Age >= time.Second {
		b.WriteString(age + n.Age.Truncate(time.Second).String())
	}
	if n.Wait.For != "" {
		b.WriteString(": " + n.Wait.text(upTo))
	}
	b.WriteString("\n")
	for i, t := range n.Tasks {
		if i == len(n.Tasks)-1 && n.More == 0 {
			t.draw(b, rest+"└─ ", rest+"   ")
		} else {
			t.draw(b, rest+"├─ ", rest+"│  ")
		}
	}
	if n.More > 0 {
		fmt.Fprintf(b, "%s└─ … and %d more\n", rest, n.More)
	}
}

// noun returns the word for several tasks of the kind.
func (n Node) noun() string {
	switch n.Kind {
	case scope.KindNames[scope.KindItem], scope.KindNames[scope.KindStream]:
		return n.Kind + "s"
	case "blocking":
		return "calls"
	}
	return "tasks"
}

// frame returns the place in the caller's own code.
func (w Wait) frame() Frame { return Frame{w.Func, w.File, w.Line} }

// String describes the wait in one line: what for, where, and for how long if that is known and at least a second, or else in how many snapshots
// in a row if there were several.
func (w Wait) String() string { return w.text("") }

func (w Wait) text(upTo string) string {
	var b strings.Builder
	b.WriteString(w.For)
	if w.On != "" {
		b.WriteString(" " + w.On)
	}
	if !w.Until.IsZero() {
		fmt.Fprintf(&b, " for another %v", max(0, time.Until(w.Until)).Round(time.Millisecond))
	}
	if w.Deadlock {
		b.WriteString(", a deadlock")
	}
	if w.File != "" {
		fmt.Fprintf(&b, ", %s:%d", filepath.Base(w.File), w.Line)
	}
	if w.Call != "" {
		fmt.Fprintf(&b, " (%s)", w.Call[strings.LastIndexByte(w.Call, '/')+1:])
	}
	switch {
	case w.Seen >= time.Second:
		fmt.Fprintf(&b, ", here for %s%v", upTo, w.Seen.Truncate(time.Second))
	case w.Seen == 0 && w.Snapshots > 1:
		fmt.Fprintf(&b, ", here in %s%d snapshots", upTo, w.Snapshots)
	}
	return b.String()
}
