package meanwhile

import "sync/atomic"

// An ident is, in one word, a number that tells a task from the others that run in the process, and below it the task's
// kind. Numbers come again after some 268 million tasks.
type ident uint32

const (
	kindBits = 4
	maxID    = 1<<(32-kindBits) - 1
)

// nextID gives a number.
func nextID() uint32 { return lastID.Add(1) & maxID }

func newIdent(id uint32, k kind) ident { return ident(id<<kindBits) | ident(k) }

func (i ident) kind() kind { return kind(i & (1<<kindBits - 1)) }

func (i ident) id() uint32 { return uint32(i >> kindBits) }

func (n *node) kind() kind { return n.ident.kind() }

// lastID is the number that was given last.
var lastID atomic.Uint32
