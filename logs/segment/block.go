package segment

import (
	"bytes"
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A block is one on its way into a segment.
type block struct {
	entry
	until  uint64 // number of its last record
	data   []byte // encoded records
	stored []byte
	words  []uint64 // its Bloom filter
	bloom  *bloom
	tokens []uint64 // of a record
}

// blocks are kept for use again, as they are large.
var blocks = sync.Pool{New: func() any {
	return &block{data: make([]byte, 0, blockBytes), bloom: newBloom()}
}}

func newBlock() *block {
	b := blocks.Get().(*block)
	clear(b.bloom.words)
	*b = block{data: b.data[:0], stored: b.stored[:0], bloom: b.bloom, tokens: b.tokens[:0]}
	return b
}

// close works out what is to be known of the block's records, and compresses them.
func (b *block) close(c codec) {
	// Compressing reads all in one go, which brings it near for what follows.
	b.raw, b.codec = uint32(len(b.data)), c
	b.stored = c.compress(b.stored[:0], b.data)
	b.entry.stored, b.crc = uint32(len(b.stored)), checksum(b.stored)
	var v logs.View
	var before, message []byte // attributes and message of the record before
	first := true
	for rest := b.data; len(rest) > 0; {
		next, err := v.Next(rest)
		if err != nil { // its reader will say so
			break
		}
		rest = next
		if first {
			b.min, b.max, first = v.Time, v.Time, false
		}
		b.min, b.max = min(b.min, v.Time), max(b.max, v.Time)
		b.levels[class(v.Level)]++
		if attrs := v.EncodedAttrs(); len(attrs) > 0 && len(v.Task)+len(v.Job) == 0 && bytes.Equal(attrs, before) {
			v = logs.View{Message: v.Message} // the filter has their tokens
		} else {
			before = attrs
		}
		v.Message, message = filter.FreshWords(v.Message, message), v.Message
		b.tokens = filter.AppendTokens(b.tokens[:0], &v)
		b.bloom.add(b.tokens)
	}
	b.words = b.bloom.folded()
}

// putBlock gives a block back whose filter is kept by somebody else.
func putBlock(b *block) {
	b.words = nil
	blocks.Put(b)
}
