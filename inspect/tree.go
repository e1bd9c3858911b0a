package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Node is a task of the tree, as a value: what was true when [Tree] or [Trees] read it. It keeps the task from being
// collected, so do not hold on to it.
type Node struct {
	ID    uint32        `json:"id"`            // identifies the task among all that run in the process
	Name  string        `json:"name"`          // the last part of the path
	Path  string        `json:"path"`          // from the root of the tree
	Kind  string        `json:"kind"`          // task, run, supervise, shield, stream, item or blocking
	State string        `json:"state"`         // running, joining (the function has returned, tasks below run), canceled or abandoned
	Age   time.Duration `json:"age,omitempty"` // since the task began, to 10 ms; zero is unknown, see Tree
	Wait  Wait          `json:"wait"`          // what the task's own function waits for
	Tasks []Node        `json:"tasks,omitempty"`
	More  int           `json:"more,omitempty"` // tasks below that were left out by what passed the Node on
	Group []Node        `json:"-"`              // the tasks that the Node stands for, if it was made by Grouped

	n         *scope.Node
	call      *scope.BlockingCall
	stack     *stack        // nil if it is unknown
	unchanged time.Duration // since when snapshots have found it at its place, or in its wait if that can be identified
}

// A Wait says what a task waits for, and where.
type Wait struct {
	// For is what kind of wait it is:
	//
	//	running       none: the task uses a processor, or is about to, or helps or waits for the garbage collector
	//	start         its goroutine has not begun yet
	//	network       I/O on a connection, a listener or a name server; On says which call, see docs/hangs.md
	//	HTTP connection pool    a connection of an http.Transport that has as many to the host as it may have, all in use
	//	database pool a connection of a sql.DB or pgxpool.Pool; "new resource" in On: the pool is making one
	//	file          I/O on a pipe, a terminal or another file that can be waited for; On says which call
	//	process       the end of a process, which can hold a thread
	//	receive, send a channel
	//	select        the first of several channels
	//	mutex, rwmutex, waitgroup, cond, once    those of package sync
	//	sleep         a time: Until
	//	system call   the kernel, holding a thread; On names the call, or the function that takes its number
	//	C call        a function in C, or another language behind cgo, holding a thread; On names the function
	//	task          another task, which On names by its path
	//	tasks         the tasks below, after the task's own function has returned
	//	read          a reader, such as that of meanwhile.Lines
	//	semaphore     a meanwhile.Semaphore; On says how much of it is held, where it was made, and which tasks took it; or one of golang.org/x/sync
	//	blocking      a place among the calls of meanwhile.Blocking, or the call itself
	//	rate          its turn, as a meanwhile.Pacer gives it: Until
	//	retry         the next attempt of meanwhile.Retry: Until
	//	stream        the next result of a stream; On names the item
	//	source        the next value of a stream's source, or of iter.Pull
	//	limit         others that run: there are as many as the meanwhile.Limit of a stream, or the meanwhile.MaxTasks of a scope, allows
	//	full          the loop over the stream, which has not taken the results that are there
	//	signal        a signal
	//	nothing       for ever: an empty select
	//	unknown       not known
	For  string `json:"for"`
	On   string `json:"on,omitempty"`
	Call string `json:"call,omitempty"` // the function of another package that the caller's own code called
	Func string `json:"func,omitempty"` // the function of the caller's own code
	File string `json:"file,omitempty"` // and its place
	Line int    `json:"line,omitempty"`

	Until time.Time `json:"until,omitzero"` // when the wait will end by itself, where that is known
	// Seen is how long snapshots have found the task in this very wait: it has lasted that long, or longer. It is zero if the
	// wait cannot be distinguished from the next one at the same place, which is the case for channels, locks, connections and
	// everything else outside of this package.
	Seen time.Duration `json:"seen,omitempty"`
	// Snapshots is how many snapshots in a row, this one included, have found the task waiting at this place. Between them it
	// may have been elsewhere.
	Snapshots int `json:"snapshots,omitempty"`
	// Deadlock reports whether the task waits for a task that waits for it: for its end, or for a semaphore that it took. A
	// semaphore counts as long as each task has released what it took, see docs/hangs.md.
	Deadlock bool `json:"deadlock,omitempty"`
}

// A Frame is a function that a task is in.
type Frame struct {
	Func string `json:"func"` // the name with its package's path
	File string `json:"file"`
	Line int    `json:"line"`
}

// Tree returns the task that ctx belongs to with everything that runs below it, the oldest first, and what each of them waits
// for. It is the zero Node when ctx carries no task.
//
// Tree reads the tasks one by one, without stopping them: tasks that start or end meanwhile may be seen or not. The
// goroutines are read as they are at one moment; the program stands still for some microseconds, or for some milliseconds if a
// processor is slow to stop. It may be called by many goroutines at once; they take turns.
//
// Tasks note when they began under process.Main, while a [Watch] runs, and after the first snapshot, so in other programs the
// first snapshot has no ages.
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

// Trees returns all trees of the process: every scope or stream that was started with a ctx that carried no task, the
// oldest first, with what runs below it. Calls of [meanwhile.Blocking] whose task has ended come last.
func Trees() []Node { return takeSnapshot(scope.Roots(), true) }

// Stack returns the functions that the task is in, the innermost first, up to where the task begins, or where the scope that it
// waits for begins. It is nil when that is unknown, and for a Node that was read from JSON.
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

// Cancel cancels the task and everything below it, as [meanwhile.Task.Cancel] does, and reports whether it was still there. It
// returns false for a Node that was read from JSON, and for a call of [meanwhile.Blocking].
func (n Node) Cancel(cause error) bool {
	t := n.n
	if t == nil || t.Is(scope.IsFinished) {
		return false
	}
	return t.CancelBecause(cause)
}

// String draws the tree, one task per line: its name, its state unless it is running, its age from one second on, what it waits
// for, and where. Siblings that are alike share a line, as [Node.Grouped] says.
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

// noun returns what several tasks of the kind are called.
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

// String describes the wait in one line: what for, where, and for how long if that is known and more than a second, or else in
// how many snapshots in a row if there were several.
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
