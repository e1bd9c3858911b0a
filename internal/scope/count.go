package scope

import "sync/atomic"

// A childCount counts what is below a task: the tasks that have not ended, and those in the list, where ended ones stay for a
// while. It also says whether the function has returned and waits for the tasks. All of it is one word, so that a task only
// counts itself out when it ends, and the last one knows that it is waited for: the end of a task needs no lock that the start
// of others holds.
type childCount struct{ word atomic.Uint64 }

// A count is what a childCount was at one moment.
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

// enter counts a task in, unless no task can be started any more. Its caller holds the mutex of the task above, so that nobody
// else enters meanwhile.
func (t *childCount) enter() (now count, ok bool) {
	now = count(t.word.Add(uint64(oneListed + oneLive)))
	if (now - oneListed - oneLive).isClosed() {
		t.word.Add(^uint64(oneListed + oneLive - 1))
		return now, false
	}
	return now, true
}

func (t *childCount) leave() count { return count(t.word.Add(^uint64(oneLive - 1))) }

// join says that the function has returned.
func (t *childCount) join() count { return count(t.word.Or(uint64(joining))) | joining }

// unlist takes so many out of the list. Its caller holds the mutex of the task above.
func (t *childCount) unlist(n uint32) { t.word.Add(-(uint64(n) * uint64(oneListed))) }
