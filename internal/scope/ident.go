package scope

import (
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// An ident has in one word a number that distinguishes a task from the others that run in the process, whether the task's base is not its
// parent, and its kind. Numbers repeat after some 268 million tasks.
type ident uint32

const (
	kindBits = 4
	maxID    = 1<<(32-kindBits) - 1

	isForeign ident = 1 << (kindBits - 1)
)

// nextID returns a new number.
func nextID() uint32 { return lastID.Add(1) & maxID }

func newIdent(id uint32, k Kind) ident { return ident(id<<kindBits) | ident(k) }

func (i ident) Kind() Kind { return Kind(i & (isForeign - 1)) }

func (i ident) isForeign() bool { return i&isForeign != 0 }

func (i ident) id() uint32 { return uint32(i >> kindBits) }

// ID identifies n among the tasks that run in the process.
func (n *Node) ID() uint32 { return n.ident.id() }

func (n *Node) Kind() Kind { return n.ident.Kind() }

// lastID is the last number that was assigned.
var lastID atomic.Uint32

// A block has numbers and label sets for some of the next tasks, of any tree: a scope that starts one task needs two of them, and one
// allocation for several scopes costs less. As long as one of the sets is in use, the labels of the others stay in memory.
type block struct {
	number uint32 // of the first set
	taken  atomic.Uint32
	sets   [blockSize]goroutine.Set
}

const blockSize = 16

var openBlock atomic.Pointer[block]

// reserve returns count process-wide numbers, the first of which is last+1, and as many label sets, none of which points to its task.
func reserve(count uint32) (last uint32, sets []goroutine.Set) {
	if count > 2 {
		return lastID.Add(count) - count, make([]goroutine.Set, count)
	}
	for {
		b := openBlock.Load()
		if b != nil {
			if end := b.taken.Add(count); end <= blockSize {
				return b.number + end - count - 1, b.sets[end-count : end : end]
			}
		}
		openBlock.CompareAndSwap(b, &block{number: lastID.Add(blockSize) - blockSize + 1})
	}
}
