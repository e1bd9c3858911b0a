package logtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// Brought is the outcome of one connection.
type Brought struct {
	Records []string       // each record as Describe returns it, in order
	Reply   string         // to the client
	Refused map[string]int // as [Recorder.Refused] counts it
	Err     error          // that ended the connection
	Left    int            // bytes that the parser has not parsed at the end
}

// Drive passes chunks to a parser, as a server does that reads them one after the other. After each chunk, a new parser continues from
// the state of the previous one. The parsed data is overwritten after each call.
func Drive(protocol input.Protocol, chunks ...[]byte) Brought {
	var r Recorder
	var b Brought
	var data []byte
	p := protocol.Parser("192.0.2.1:4711", nil)
	for _, chunk := range chunks {
		data = append(slices.Clip(data), chunk...)
		taken, reply, err := p.Parse(data, &r)
		b.Reply += string(reply)
		if taken < 0 || taken > len(data) {
			b.Err = fmt.Errorf("took %d of %d bytes", taken, len(data))
			return b
		}
		rest := slices.Clone(data[taken:])
		for i := range data {
			data[i] = '!'
		}
		data = rest
		if b.Err = err; err != nil {
			break
		}
		p = protocol.Parser("192.0.2.1:4711", slices.Clone(p.State()))
	}
	if b.Left = len(data); b.Err == nil {
		p.End(data, &r)
	}
	_ = r.Flush(context.Background())
	for _, record := range r.Records() {
		b.Records = append(b.Records, Describe(&record))
	}
	b.Refused = r.Refused()
	return b
}

// CheckWay drives input as a whole, and cut at the given places, and fails if the outcomes differ.
func CheckWay(t testing.TB, protocol input.Protocol, input []byte, cuts ...int) {
	t.Helper()
	slices.Sort(cuts)
	var chunks [][]byte
	from := 0
	for _, cut := range cuts {
		if cut = min(max(cut, from), len(input)); cut > from {
			chunks = append(chunks, input[from:cut])
			from = cut
		}
	}
	whole, cut := Drive(protocol, input), Drive(protocol, append(chunks, input[from:])...)
	if got, want := described(cut), described(whole); got != want {
		t.Errorf("cut at %d of %q:\n%s\nwhole:\n%s", cuts, input, got, want)
	}
}

func described(b Brought) string {
	return fmt.Sprintf("records %q\nreply %q\nrefused %v\nended %v", b.Records, b.Reply, b.Refused, b.Err != nil)
}

// Describe returns all that a record contains, as one line: its time unless it has none, its level, and its service, then its
// message, its task and job if it has them, and its attributes.
func Describe(r *logs.Record) string {
	text := ""
	if r.Time.UnixNano() != 0 {
		text = r.Time.UTC().Format("2006-01-02T15:04:05.999999999Z07:00 ")
	}
	text += fmt.Sprintf("%v %s %q", r.Level, r.Service, r.Message)
	if r.Task != "" {
		text += " task=" + r.Task
	}
	if r.Job != "" {
		text += " job=" + r.Job
	}
	for _, a := range r.Attrs {
		value := a.Value.String()
		if raw, ok := a.Value.Any().(json.RawMessage); ok {
			value = string(raw)
		}
		text += fmt.Sprintf(" %s=%s:%q", a.Key, a.Value.Kind(), value)
	}
	return text
}
