package loki

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// json takes a push request {"streams": [{"stream": {LABELS}, "values": [["NANOSECONDS", "LINE", {METADATA}], …]}, …]}. It is read
// token by token, but for the parts of a stream, whose labels may come behind its values: these are copied, into the buffer of the decoder
// and out of it.
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
	if len(s.Values) == 0 { // as in requests of before Loki 1.0, which have entries
		return malformed("a stream has no values")
	}
	values := newReader(s.Values)
	return values.array(func() error { return in.value(values) })
}

// value takes an entry.
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
		return malformed("the timestamp %.40q is no number of nanoseconds", stamp)
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

// A reader reads JSON of which it is known what comes next.
type reader struct{ *json.Decoder }

func newReader(text []byte) *reader {
	r := &reader{json.NewDecoder(bytes.NewReader(text))}
	r.UseNumber()
	return r
}

// delim reads a bracket.
func (r *reader) delim(want json.Delim) error {
	got, err := r.Token()
	if err != nil {
		return malformed("%v", err)
	}
	if got != want {
		return malformed("%s was to come at byte %d", want, r.InputOffset())
	}
	return nil
}

// object calls fn for each member, which reads its value.
func (r *reader) object(fn func(key string) error) error {
	if err := r.delim('{'); err != nil {
		return err
	}
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return malformed("%v", err)
		}
		if err := fn(key.(string)); err != nil { // JSON has no other keys
			return err
		}
	}
	return r.delim('}')
}

// array calls fn for each member, which reads it.
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

// pairs reads an object of texts.
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

// text reads a text, or a number or a truth value as one.
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
	return "", malformed("a text was to come at byte %d", r.InputOffset())
}

// skip passes over a value.
func (r *reader) skip() error {
	var value json.RawMessage
	if err := r.Decode(&value); err != nil {
		return malformed("%v", err)
	}
	return nil
}
