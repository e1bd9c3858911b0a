// Package profile writes profiles that "go tool pprof" reads.
package profile

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"time"
)

// A Frame is a function in a stack, with a source line in it.
type Frame struct {
	Func, File string
	Line       int
}

// A Label is a tag of a sample.
type Label struct{ Key, Value string }

// A Profile collects samples of one type. Its format is that of github.com/google/pprof/proto/profile.proto.
type Profile struct {
	message   message // all but the strings
	strings   map[string]uint64
	table     []string
	functions map[Frame]uint64 // without lines
	locations map[Frame]uint64
}

// Fields of the messages, by their numbers in profile.proto.
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6
	profileDuration   = 10
)

// New returns a profile of a period of duration. Its samples have values of a kind, such as "wait", in nanoseconds.
func New(kind string, duration time.Duration) *Profile {
	p := &Profile{strings: make(map[string]uint64), functions: make(map[Frame]uint64), locations: make(map[Frame]uint64)}
	p.text("") // the first one must be empty
	var t message
	t.number(1, p.text(kind))
	t.number(2, p.text("nanoseconds"))
	p.message.part(profileSampleType, t)
	p.message.number(profileDuration, uint64(duration))
	return p
}

// Add adds a sample. The innermost frame is the first.
func (p *Profile) Add(value time.Duration, stack []Frame, labels ...Label) {
	var sample, locations, values message
	for _, f := range stack {
		locations = binary.AppendUvarint(locations, p.location(f))
	}
	values = binary.AppendUvarint(values, uint64(value))
	sample.part(1, locations)
	sample.part(2, values)
	for _, l := range labels {
		var label message
		label.number(1, p.text(l.Key))
		label.number(2, p.text(l.Value))
		sample.part(3, label)
	}
	p.message.part(profileSample, sample)
}

func (p *Profile) location(f Frame) uint64 {
	id, ok := p.locations[f]
	if !ok {
		id = uint64(len(p.locations) + 1)
		p.locations[f] = id
		var line, location message
		line.number(1, p.function(f))
		line.number(2, uint64(f.Line))
		location.number(1, id)
		location.part(4, line)
		p.message.part(profileLocation, location)
	}
	return id
}

func (p *Profile) function(f Frame) uint64 {
	f.Line = 0
	id, ok := p.functions[f]
	if !ok {
		id = uint64(len(p.functions) + 1)
		p.functions[f] = id
		var function message
		function.number(1, id)
		function.number(2, p.text(f.Func))
		function.number(3, p.text(f.Func))
		function.number(4, p.text(f.File))
		p.message.part(profileFunction, function)
	}
	return id
}

// text returns the index of a string in the string table.
func (p *Profile) text(s string) uint64 {
	i, ok := p.strings[s]
	if !ok {
		i = uint64(len(p.table))
		p.strings[s], p.table = i, append(p.table, s)
	}
	return i
}

// Write writes the profile, gzipped as its readers expect.
func (p *Profile) Write(w io.Writer) error {
	whole := p.message
	for _, s := range p.table {
		whole.part(profileString, message(s))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(whole); err != nil {
		return err
	}
	return z.Close()
}

// A message is a protobuf message: its fields, one after the other.
type message []byte

func (m *message) number(field int, value uint64) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3), value)
}

func (m *message) part(field int, part message) {
	*m = append(binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|2), uint64(len(part))), part...)
}
