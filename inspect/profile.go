package inspect

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime/pprof"
	"strings"
)

// A sample describes what one or more goroutines do.
type sample struct {
	calls  []*location // the innermost first
	count  int64
	labels map[string]string
}

// goroutineProfile reads the runtime's profile of all goroutines.
func goroutineProfile() ([]sample, error) { return readSamples(pprof.Lookup("goroutine")) }

// readSamples parses a profile of goroutines, in the format of github.com/google/pprof/proto/profile.proto, as far as it is needed. The caller
// holds the mutex of places.
func readSamples(profile *pprof.Profile) ([]sample, error) {
	var packed bytes.Buffer
	if err := profile.WriteTo(&packed, 0); err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return readProfile(raw)
}

var errProfile = errors.New("the profile of the goroutines is not in the format that is known")

// A message is an encoded part of a profile. Its fields are read one after the other.
type message []byte

// next reads a field: its number, and its value, which is a number or the bytes of a part.
func (m *message) next() (field int, number uint64, part message, err error) {
	key, n := binary.Uvarint(*m)
	if n <= 0 {
		return 0, 0, nil, errProfile
	}
	*m = (*m)[n:]
	number, n = binary.Uvarint(*m)
	if n <= 0 {
		return 0, 0, nil, errProfile
	}
	*m = (*m)[n:]
	switch key & 7 {
	case 0:
	case 2:
		if number > uint64(len(*m)) {
			return 0, 0, nil, errProfile
		}
		part, *m = (*m)[:number], (*m)[number:]
	default:
		return 0, 0, nil, errProfile
	}
	return int(key >> 3), number, part, nil
}

// numbers reads a list of numbers, which is packed into a part unless it has only one element.
func numbers(list []uint64, number uint64, part message) ([]uint64, error) {
	if part == nil {
		return append(list, number), nil
	}
	for len(part) > 0 {
		number, n := binary.Uvarint(part)
		if n <= 0 {
			return nil, errProfile
		}
		part = part[n:]
		list = append(list, number)
	}
	return list, nil
}

// fields calls f for each field of m.
func (m message) fields(f func(field int, number uint64, part message) error) error {
	for len(m) > 0 {
		field, number, part, err := m.next()
		if err != nil {
			return err
		}
		if err := f(field, number, part); err != nil {
			return err
		}
	}
	return nil
}

// A rawProfile is a profile divided into its parts.
type rawProfile struct {
	samples, locations, functions []message
	strings                       []string
}

func readProfile(raw []byte) ([]sample, error) {
	var p rawProfile
	err := message(raw).fields(func(field int, _ uint64, part message) error {
		switch field {
		case 2:
			p.samples = append(p.samples, part)
		case 4:
			p.locations = append(p.locations, part)
		case 5:
			p.functions = append(p.functions, part)
		case 6:
			p.strings = append(p.strings, string(part))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	functions, err := p.readFunctions()
	if err != nil {
		return nil, err
	}
	locations, err := p.readLocations(functions)
	if err != nil {
		return nil, err
	}
	samples := make([]sample, 0, len(p.samples))
	for _, m := range p.samples {
		s, err := p.readSample(m, locations)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// text returns a string of the string table.
func (p *rawProfile) text(i uint64) string {
	if i >= uint64(len(p.strings)) {
		return ""
	}
	return p.strings[i]
}

func (p *rawProfile) readFunctions() (map[uint64]Frame, error) {
	functions := make(map[uint64]Frame, len(p.functions))
	for _, m := range p.functions {
		var id uint64
		var f Frame
		err := m.fields(func(field int, number uint64, _ message) error {
			switch field {
			case 1:
				id = number
			case 2:
				f.Func = withoutShapes(p.text(number))
			case 4:
				f.File = p.text(number)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		functions[id] = f
	}
	return functions, nil
}

// withoutShapes removes the type arguments that a generic function was compiled for, as runtime.Frame does.
func withoutShapes(function string) string {
	begin, end := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']')
	if begin < 0 || end < begin {
		return function
	}
	return function[:begin] + "[...]" + function[end+1:]
}

// readLocations returns the places of each location: more than one if calls were inlined.
func (p *rawProfile) readLocations(functions map[uint64]Frame) (map[uint64][]*location, error) {
	locations := make(map[uint64][]*location, len(p.locations))
	for _, m := range p.locations {
		var id, address uint64
		var frames []Frame
		err := m.fields(func(field int, number uint64, part message) error {
			switch field {
			case 1:
				id = number
			case 3:
				address = number
			case 4:
				f, err := readCall(part, functions)
				frames = append(frames, f)
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		locations[id] = placesOf(uintptr(address), frames)
	}
	return locations, nil
}

func readCall(m message, functions map[uint64]Frame) (f Frame, err error) {
	line := 0
	err = m.fields(func(field int, number uint64, _ message) error {
		switch field {
		case 1:
			f = functions[number]
		case 2:
			line = int(number)
		}
		return nil
	})
	f.Line = line
	return f, err
}

// placesOf returns the places of an address, which is that of the call instruction, not of the one after it.
func placesOf(address uintptr, frames []Frame) []*location {
	if len(frames) <= 1 {
		return []*location{at(address + 1)}
	}
	list := make([]*location, len(frames))
	for i, f := range frames {
		list[i] = inlined(f)
	}
	return list
}

func (p *rawProfile) readSample(m message, locations map[uint64][]*location) (sample, error) {
	s := sample{count: 1}
	err := m.fields(func(field int, number uint64, part message) error {
		switch field {
		case 1:
			ids, err := numbers(nil, number, part)
			for _, id := range ids {
				s.calls = append(s.calls, locations[id]...)
			}
			return err
		case 2:
			values, err := numbers(nil, number, part)
			if len(values) > 0 {
				s.count = int64(values[0])
			}
			return err
		case 3:
			return p.readLabel(part, &s)
		}
		return nil
	})
	return s, err
}

func (p *rawProfile) readLabel(m message, s *sample) error {
	var key, value string
	err := m.fields(func(field int, number uint64, _ message) error {
		switch field {
		case 1:
			key = p.text(number)
		case 2:
			value = p.text(number)
		}
		return nil
	})
	if s.labels == nil {
		s.labels = make(map[string]string)
	}
	s.labels[key] = value
	return err
}
