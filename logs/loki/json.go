package loki

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// json adds the records of a push request {"streams": [{"stream": {LABELS}, "values": [["NANOSECONDS", "LINE", {METADATA}], …]}, …]}.
// It reads token by token. Only the labels and the values of each stream are copied as a whole, since the labels may follow the values.
func (in *intake) json(request []byte) error {
	r := newReader(request)
	return r.object(func(key string) error {
		if key != "streams" {
			return r.skip()
		}
		return r.array(func() error { return in.streamObject(r) })
	})
}

func (in *intake) streamObject(r *reader) error {
	var s struct {
		Stream json.RawMessage `json:"stream"`
		Values json.RawMessage `json:"values"`
	}
	if err := r.Decode(&s); err != nil {
		return malformed("%v", err)
	}
	var pairs []pair
	if len(s.Stream) > 0 {
		labels := newReader(s.Stream)
		if err := labels.pairs(&pairs); err != nil {
			return err
		}
	}
	if err := in.stream(pairs); err != nil {
		return err
	}
	if len(s.Values) == 0 { // clients older than Loki 1.0 send entries instead
		return malformed("a stream has no values")
	}
	values := newReader(s.Values)
	return values.array(func() error { return in.value(values) })
}

// value adds an entry.
func (in *intake) value(r *reader) error {
	if err := r.delim('['); err != nil {
		return err
	}
	stamp, err := r.text()
	if err != nil {
		return err
	}
	nanoseconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return malformed("the timestamp %.40q is not a number of nanoseconds", stamp)
	}
	line, err := r.text()
	if err != nil {
		return err
	}
	var metadata []pair
	if r.More() {
		if err := r.pairs(&metadata); err != nil {
			return err
		}
	}
	if err := r.delim(']'); err != nil {
		return err
	}
	return in.entry(nanoseconds, line, metadata)
}

// A reader reads JSON of a known structure.
type reader struct{ *json.Decoder }

func newReader(text []byte) *reader {
	r := &reader{json.NewDecoder(bytes.NewReader(text))}
	r.UseNumber()
	return r
}

// delim reads a bracket, and returns an error if it is not the wanted one.
func (r *reader) delim(want json.Delim) error {
	got, err := r.Token()
	if err != nil {
		return malformed("%v", err)
	}
	if got != want {
		return malformed("expected %s at byte %d", want, r.InputOffset())
	}
	return nil
}

// object reads an object, and calls fn with the key of each member to read its value.
func (r *reader) object(fn func(key string) error) error {
	if err := r.delim('{'); err != nil {
		return err
	}
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return malformed("%v", err)
		}
		if err := fn(key.(string)); err != nil { // keys in JSON are strings
			return err
		}
	}
	return r.delim('}')
}

// array reads an array, and calls fn to read each member.
func (r *reader) array(fn func() error) error {
	if err := r.delim('['); err != nil {
		return err
	}
	for r.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	return r.delim(']')
}

// pairs reads an object whose values are strings.
func (r *reader) pairs(into *[]pair) error {
	return r.object(func(key string) error {
		value, err := r.text()
		if err != nil {
			return err
		}
		if *into = append(*into, pair{key, value}); len(*into) > maxPairs {
			return malformed("an object has more than %d labels", maxPairs)
		}
		return nil
	})
}

// text reads a string, a number or a boolean as text.
func (r *reader) text() (string, error) {
	token, err := r.Token()
	if err != nil {
		return "", malformed("%v", err)
	}
	switch x := token.(type) {
	case string:
		return x, nil
	case json.Number:
		return string(x), nil
	case bool:
		return strconv.FormatBool(x), nil
	}
	return "", malformed("expected a text at byte %d", r.InputOffset())
}

// skip reads a value and ignores it.
func (r *reader) skip() error {
	var value json.RawMessage
	if err := r.Decode(&value); err != nil {
		return malformed("%v", err)
	}
	return nil
}
