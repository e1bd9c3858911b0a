package meanwhile

import "sync/atomic"

// A mark tells a task from others, in one word: above its number in the process, below its kind. Numbers come again after
// some 268 million tasks; whoever finds two tasks with the same one must not say which is which.
type mark uint32

const (
	kindBits   = 4
	markBase   = 128
	markDigits = 4 // 128^4 numbers: what the mark has room for
	markBits   = 32 - kindBits
	waitDigits = 2 // of the number of a parker
)

// nextID gives a number.
func nextID() uint32 { return lastID.Add(1) % (1 << markBits) }

func newMark(id uint32, k kind) mark { return mark(id<<kindBits) | mark(k) }

func (m mark) kind() kind { return kind(m & (1<<kindBits - 1)) }

func (m mark) id() uint32 { return uint32(m >> kindBits) }

func (n *node) kind() kind { return n.mark.kind() }

// lastID is the number that was given last.
var lastID atomic.Uint32
