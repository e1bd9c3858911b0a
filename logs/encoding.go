package logs

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	keptRoom = 64 << 10 // of an encoding that is used again
	// The encoding's own bytes beside the texts, and the mark of what was cut, fit into the rest.
	maxClientAttrs = MaxRecord / 2
	maxClientText  = MaxRecord/2 - 4<<10
)

// An encoding is the room to make one record in.
type encoding struct {
	view    View
	message []byte
	task    []byte
	job     []byte
	record  []byte
}

var encodings = sync.Pool{New: func() any { return &encoding{} }}

func newEncoding() *encoding { return encodings.Get().(*encoding) }

func (e *encoding) free() {
	if cap(e.record)+cap(e.view.attrs)+cap(e.message) > keptRoom {
		return
	}
	attrs := e.view.attrs[:0]
	e.view = View{attrs: attrs}
	encodings.Put(e)
}

// encode encodes a record of somebody else, which it leaves as it is but for a time.
func (e *encoding) encode(v *View) (service string, record []byte, at int64, err error) {
	if len(v.Service) > 0 {
		service = string(v.Service)
		if err := CheckService(service); err != nil {
			return "", nil, 0, err
		}
	}
	own := *v
	if own.Time == 0 {
		own.Time = time.Now().UnixNano()
	}
	e.record = appendBounded(e.record[:0], &own)
	return service, e.record, own.Time, nil
}

// appendBounded appends the encoding of a record. When it would be too long, the message is cut and says so, and attributes
// that are too many or too long are left out, and counted.
func appendBounded(data []byte, v *View) []byte {
	if len(v.attrs) < maxAttrs && len(v.Message)+len(v.Task)+len(v.Job)+len(v.attrs) < maxClientText {
		return v.Append(data) // as nearly all are
	}
	cut := *v
	cut.Task, cut.Job = v.Task[:min(len(v.Task), 1<<10)], v.Job[:min(len(v.Job), 1<<10)]
	cut.attrs = nil
	n, left := 0, 0
	for b := v.attrs; len(b) > 0; n++ {
		_, _, rest, ok := nextAttr(b)
		if !ok {
			break
		}
		if size := len(b) - len(rest); n-left < maxAttrs-1 && len(cut.attrs)+size < maxClientAttrs-1<<10 {
			cut.attrs = append(cut.attrs, b[:size]...)
		} else {
			left++
		}
		b = rest
	}
	if left > 0 {
		cut.AddAttr(slog.Int("logs.attributes_left_out", left))
	}
	if over := len(v.Message) - maxClientText + 4<<10; over > 0 {
		cut.Message = fmt.Appendf(nil, "%s… (%d bytes cut)", v.Message[:len(v.Message)-over], over)
	}
	return cut.Append(data)
}
