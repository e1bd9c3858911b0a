package logs

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/murmur"
)

// A Record is a decoded log record. It shares no memory with other records or with a buffer.
type Record struct {
	Time    time.Time   // when it was logged; UTC
	Level   slog.Level  //
	Service string      // which program logged it
	Message string      //
	Task    string      // the path of the task it was logged in, empty for none
	Job     string      // the ID of the job it was logged in; empty for none
	Attrs   []slog.Attr // with groups as parts of the keys: "http.status"; values are those of [AttrValue.Value]
	Number  uint64      // its position among the records of its service in one store, from 1 on; zero before it is stored
}

// View returns the record as a view.
func (r *Record) View() View {
	v := View{Time: r.Time.UnixNano(), Level: r.Level, Service: []byte(r.Service), Message: []byte(r.Message), Task: []byte(r.Task), Job: []byte(r.Job), Number: r.Number}
	for _, a := range r.Attrs {
		v.AddAttr(a)
	}
	return v
}

// Identity returns an identifier of the record, for systems that detect duplicates. It is the same each time the record is sent, and
// differs from that of any other record, even in a store that restarts its numbers or on another server with the same service: "api-17-"
// and 16 hexadecimal digits made of its time and message. It has at most [MaxService] + 38 bytes.
func (r *Record) Identity() string {
	sum := fnv.New64a()
	_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(r.Time.UnixNano()))) // neither this write nor the next one fails
	_, _ = io.WriteString(sum, r.Message)
	b := make([]byte, 0, len(r.Service)+38)
	b = append(append(b, r.Service...), '-')
	b = append(strconv.AppendUint(b, r.Number, 10), '-')
	const digits = "0123456789abcdef"
	for h, i := murmur.Mix(sum.Sum64()), 60; i >= 0; i -= 4 {
		b = append(b, digits[h>>i&0xf])
	}
	return string(b)
}
