package segment

import (
	"sync"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A block is a block of records on its way into a segment.
type block struct {
	entry
	until  uint64 // number of its last record
	data   []byte // encoded records
	stored []byte
	parts  columns
	body   []byte   // of the columns
	words  []uint64 // its Bloom filter
	bloom  *bloom
	tokens []uint64 // of a record
}

// blocks is a pool of blocks, since they are large.
var blocks = sync.Pool{New: func() any {
	return &block{data: make([]byte, 0, blockBytes), bloom: newBloom()}
}}

func newBlock() *block {
	b := blocks.Get().(*block)
	clear(b.bloom.words)
	*b = block{data: b.data[:0], stored: b.stored[:0], body: b.body[:0], parts: b.parts, bloom: b.bloom, tokens: b.tokens[:0]}
	return b
}

// close computes what the index needs to know of the block's records, and compresses them, by columns if they are similar enough.
func (b *block) close(c codec) {
	b.raw, b.codec = uint32(len(b.data)), c
	if b.split() {
		b.tokens = b.parts.appendTokens(b.tokens[:0])
		b.bloom.add(b.tokens)
		b.stored, b.body = b.parts.encode(b.stored[:0], b.body[:0], c)
		b.head, b.crc = uint32(len(b.stored)), checksum(b.stored)
		b.stored = append(b.stored, b.body...)
	} else {
		b.gatherTokens()
		b.stored = c.compress(b.stored[:0], b.data)
		b.head, b.crc = 0, checksum(b.stored)
	}
	b.words = b.bloom.folded()
	b.entry.stored = uint32(len(b.stored))
}

// split divides the records into columns. It returns false if they are too different, or if they would be encoded differently when they
// are read back.
func (b *block) split() bool {
	var v logs.View
	var least, most int64
	var classes [4]uint32
	whole := true
	b.parts.reset()
	for rest, first := b.data, true; len(rest) > 0; first = false {
		next, err := v.Next(rest)
		if err != nil { // its reader reports it
			whole = false
			break
		}
		if whole = whole && v.EncodedLen() == len(rest)-len(next) && b.parts.add(&v); first {
			least, most = v.Time, v.Time
		}
		rest = next
		least, most = min(least, v.Time), max(most, v.Time)
		classes[class(v.Level)]++
	}
	b.min, b.max, b.levels = least, most, classes
	return whole && b.parts.count == int(b.count)
}

// gatherTokens adds the tokens of records that are stored one after the other.
func (b *block) gatherTokens() {
	var v logs.View
	for rest := b.data; len(rest) > 0; {
		next, err := v.Next(rest)
		if err != nil {
			break
		}
		rest = next
		b.tokens = filter.AppendTokens(b.tokens[:0], &v)
		b.bloom.add(b.tokens)
	}
}

// putBlock returns a block to the pool, except for its Bloom filter, which is still used elsewhere.
func putBlock(b *block) {
	b.words = nil
	blocks.Put(b)
}
