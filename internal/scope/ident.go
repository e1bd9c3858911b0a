package scope

import "sync/atomic"

// An ident is, in one word, a number that tells a task from the others that run in the process, and below it the task's
// kind, and whether its base is not its parent. Numbers come again after some 268 million tasks.
type ident uint32

const (
	kindBits = 4
	maxID    = 1<<(32-kindBits) - 1

	isForeign ident = 1 << (kindBits - 1)
)

// nextID gives a number.
func nextID() uint32 { return lastID.Add(1) & maxID }

func newIdent(id uint32, k Kind) ident { return ident(id<<kindBits) | ident(k) }

func (i ident) Kind() Kind { return Kind(i & (isForeign - 1)) }

func (i ident) isForeign() bool { return i&isForeign != 0 }

func (i ident) id() uint32 { return uint32(i >> kindBits) }

// ID identifies n among the tasks that run in the process.
func (n *Node) ID() uint32 { return n.ident.id() }

func (n *Node) Kind() Kind { return n.ident.Kind() }

// lastID is the number that was given last.
var lastID atomic.Uint32
