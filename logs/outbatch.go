package logs

import (
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

const (
	sealSize    = 256 << 10 // a batch is sent when it has this many bytes, or has lingered
	firstRoom   = 16 << 10
	keptBatches = 8 // whose memory is used again
)

// An outBatch is a batch on its way out of this process.
type outBatch struct {
	Batch
	begun time.Time

	once    sync.Once
	head    []byte // the first part of the frame
	payload []byte // the second part: the data, or the compressed data

	busy int  // how many read it at present; guarded by the sender's mutex, as is gone
	gone bool // it is no longer needed
}

// size returns the bytes that the batch counts for in limits.
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

// renew returns an empty batch that uses the memory of b.
func (b *outBatch) renew() *outBatch {
	return &outBatch{Batch: Batch{Data: b.Data[:0]}, head: b.head[:0]}
}
