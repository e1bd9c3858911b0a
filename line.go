package meanwhile

// A line is the tasks of a family that are to be started, the oldest first; the parent's mu guards it.
//
// The first task gets its goroutine from Go. That goroutine takes the next one out of the line, starts its goroutine, and
// only then runs its own task. So every task has a goroutine of its own and waits for none before it, but a function that
// starts many in a row hands the making of the goroutines to another processor.
type line struct {
	tasks []starter
	head  int  // tasks before it have been taken out
	moves bool // a goroutine is on its way to take the first
}

// A starter runs a task and knows its number.
type starter interface {
	start()
	id() uint32
}

// maxLineKept is the room of a line that is kept when it is empty.
const maxLineKept = 64

// enter puts s at the end, or reports that the caller is to start it.
func (l *line) enter(s starter) (head bool) {
	if !l.moves {
		l.moves = true
		return true
	}
	l.tasks = append(l.tasks, s)
	return false
}

// take removes the first; it returns nil when there is none, and the next to enter is to be started by its caller.
func (l *line) take() starter {
	if l.head == len(l.tasks) {
		l.head, l.moves = 0, false
		if l.tasks = l.tasks[:0]; cap(l.tasks) > maxLineKept {
			l.tasks = nil
		}
		return nil
	}
	s := l.tasks[l.head]
	l.tasks[l.head] = nil
	l.head++
	return s
}

// start is the goroutine of a task of n's family.
func (n *node) start(s starter) {
	n.mu.Lock()
	next := n.family.line.take()
	n.mu.Unlock()
	if next != nil {
		go n.start(next)
	}
	climb(func() { s.start() }, s.id(), markDigits)
}
