package scope

import "sync/atomic"

// A childCount counts the child tasks of a task: those that have not ended, and those in the list, where ended ones stay for a while. It
// also records whether the task's function has returned and the task waits for its children. All of this is one word, so a child only
// decrements it when it ends, and the last one sees that the parent waits: the end of a task needs no lock that is held to start others.
type childCount struct{ word atomic.Uint64 }

// A count is the value of a childCount at one moment.
type count uint64

const (
	oneLive   count = 1
	oneListed count = 1 << 32
	joining   count = 1 << 63
)

func (c count) live() uint32 { return uint32(c) }

func (c count) listed() uint32 { return uint32((c &^ joining) >> 32) }

func (c count) isJoining() bool { return c&joining != 0 }

// isClosed reports whether the wait for the tasks is over: from then on none can be started.
func (c count) isClosed() bool { return c.isJoining() && c.live() == 0 }

func (t *childCount) load() count { return count(t.word.Load()) }

// enter adds a task to both counts, unless no task can be started any more. Its caller holds the mutex of the parent, so that no other
// task enters at the same time.
func (t *childCount) enter() (now count, ok bool) {
	now = count(t.word.Add(uint64(oneListed + oneLive)))
	if (now - oneListed - oneLive).isClosed() {
		t.word.Add(^uint64(oneListed + oneLive - 1))
		return now, false
	}
	return now, true
}

func (t *childCount) leave() count { return count(t.word.Add(^uint64(oneLive - 1))) }

// join records that the function has returned.
func (t *childCount) join() count { return count(t.word.Or(uint64(joining))) | joining }

// unlist removes n tasks from the count of those in the list. Its caller holds the mutex of the parent.
func (t *childCount) unlist(n uint32) { t.word.Add(-(uint64(n) * uint64(oneListed))) }
