package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

const (
	keptRoom = 64 << 10 // the largest capacity of a buffer that is reused
	// The rest of MaxRecord is for the other bytes of the encoding, and for the note about what was left out.
	maxClientAttrs   = MaxRecord / 2
	maxClientText    = MaxRecord/2 - 4<<10
	maxClientMessage = maxClientText - 4<<10

	keyJob = "job.id" // the attribute of a task that becomes the job of its records
)

// An encoding is a buffer in which one record is encoded.
type encoding struct{ record []byte }

var encodings = sync.Pool{New: func() any { return &encoding{} }}

func newEncoding() *encoding { return encodings.Get().(*encoding) }

func (e *encoding) free() {
	if cap(e.record) <= keptRoom {
		encodings.Put(e)
	}
}

// encode encodes the view that was passed to Sender.Add or Sender.Send, without changing it. A zero time becomes the current time.
func (e *encoding) encode(v *View) (service string, record []byte, at int64) {
	service = string(cut.Prefix(v.Service, MaxServiceRead))
	own := *v
	if own.Time == 0 {
		own.Time = time.Now().UnixNano()
	}
	e.record = appendBounded(e.record[:0], &own)
	return service, e.record, own.Time
}

// usualRoom is the size of a buffer that is large enough for most records, in bytes.
const usualRoom = 512

// encode encodes a record of log/slog, as [View.Append] does, but without a View: each part is appended to b, and the length before
// them is written last.
func (h *Handler) encode(ctx context.Context, b []byte, r *slog.Record, at int64) []byte {
	b = append(b, make([]byte, binary.MaxVarintLen32)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.AppendVarint(b, boundedLevel(r.Level))
	b = appendText(b, r.Message)
	task := len(b)
	b = closeText(tasklog.AppendPath(ctx, append(b, 0)), task)
	of := tasklog.Attrs(ctx)
	job := ""
	for _, a := range of {
		if a.Key == keyJob {
			job = a.Value.String()
		}
	}
	b = appendText(b, job)
	attrs := len(b)
	b = append(b, h.attrs...)
	for _, a := range of {
		if a.Key != keyJob {
			b = appendOne(b, "", &a)
		}
	}
	if h.source {
		b = appendSource(b, r.PC)
	}
	r.Attrs(func(a slog.Attr) bool {
		b = appendOne(b, h.prefix, &a)
		return true
	})
	if len(b)-attrs >= maxAttrs || len(b) >= maxClientText {
		path, _, _ := cutText(b[task:])
		// Copies, so that b does not escape to the heap.
		return appendBounded(nil, &View{
			Time: at, Level: r.Level, Message: []byte(r.Message), Task: bytes.Clone(path), Job: []byte(job), attrs: bytes.Clone(b[attrs:]),
		})
	}
	size := uint64(len(b) - binary.MaxVarintLen32)
	b = b[binary.MaxVarintLen32-uvarintLen(size):]
	binary.PutUvarint(b, size)
	return b
}

// closeText sets the length of a text that was appended after the byte at from, which is reserved for it.
func closeText(b []byte, from int) []byte {
	n := len(b) - from - 1
	more := uvarintLen(uint64(n)) - 1 // bytes of the length in addition to the one that is reserved
	if more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[from+1+more:], b[from+1:])
	}
	binary.PutUvarint(b[from:], uint64(n))
	return b
}

// appendBounded appends the encoding of a record. If that would be too long, the message is truncated and ends with the number of missing
// bytes, and attributes that are too many or too long are left out and counted.
func appendBounded(data []byte, v *View) []byte {
	if len(v.attrs) < maxAttrs && len(v.Message)+len(v.Task)+len(v.Job)+len(v.attrs) < maxClientText {
		return v.Append(data) // nearly all records
	}
	short := *v
	short.Task, short.Job, short.attrs = cut.Prefix(v.Task, 1<<10), cut.Prefix(v.Job, 1<<10), nil
	n, left := 0, 0
	for b := v.attrs; len(b) > 0; n++ {
		_, _, rest, ok := NextAttr(b)
		if !ok {
			break
		}
		if size := len(b) - len(rest); n-left < maxAttrs-1 && len(short.attrs)+size < maxClientAttrs-1<<10 {
			short.attrs = append(short.attrs, b[:size]...)
		} else {
			left++
		}
		b = rest
	}
	if left > 0 {
		short.AddAttr(slog.Int("logs.attributes_left_out", left))
	}
	if short.Message = cut.Prefix(v.Message, maxClientMessage); len(short.Message) < len(v.Message) {
		short.Message = fmt.Appendf(nil, "%s… (%d bytes cut)", short.Message, len(v.Message)-len(short.Message))
	}
	return short.Append(data)
}
