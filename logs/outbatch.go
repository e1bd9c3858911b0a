package logs

import (
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

const (
	sealSize    = 256 << 10 // bytes of a batch that is sent without waiting for the linger
	firstRoom   = 16 << 10  // capacity of a batch while no other waits
	keptBatches = 8         // empty batches that are kept for reuse
)

// An outBatch is a batch that this process fills, and then sends or spools.
type outBatch struct {
	Batch
	begun time.Time

	once    sync.Once
	head    []byte // the first part of the frame
	payload []byte // the second part: Data, or Data compressed

	busy int  // the number of current readers; guarded by the sender's mutex, as is gone
	gone bool // it is no longer needed
}

// size returns the bytes that count as used memory.
func (b *outBatch) size() int { return len(b.Data) }

// frame returns the two parts of the data frame. It may be called concurrently.
func (b *outBatch) frame(c *zstd.Encoder) (head, payload []byte) {
	b.once.Do(func() {
		compression := byte(logwire.CompressNone)
		b.payload = b.Data
		if c != nil && len(b.Data) >= 128 {
			if packed := c.EncodeAll(b.Data, nil); len(packed) < len(b.Data) {
				compression, b.payload = logwire.CompressZstd, packed
			}
		}
		head := logwire.DataHead{
			Compression: compression, First: b.First, Last: b.Last, Count: b.Count, Size: len(b.Data), Min: b.Min, Max: b.Max, Service: []byte(b.Service),
		}
		b.head = head.Append(b.head[:0], b.payload)
	})
	return b.head, b.payload
}

// add appends an encoded record.
func (b *outBatch) add(record []byte, at int64) {
	if b.Count == 0 {
		b.Min, b.Max = at, at
	}
	b.Min, b.Max = min(b.Min, at), max(b.Max, at)
	b.Data = append(b.Data, record...)
	b.Count++
}

// renew returns an empty batch that reuses the memory of this one.
func (b *outBatch) renew() *outBatch {
	return &outBatch{Batch: Batch{Data: b.Data[:0]}, head: b.head[:0]}
}
