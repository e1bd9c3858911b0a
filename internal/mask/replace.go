package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Replace copies JSON. For each field, at any depth, it calls with, passing the names of the fields that lead to it, and its own; with may return a
// text that replaces the value. Fields keep their order, and numbers their digits. It fails if text is not a single JSON value.
func Replace(text []byte, with func(path []string) (string, bool)) (json.RawMessage, error) {
	c := copier{in: json.NewDecoder(bytes.NewReader(text)), with: with}
	c.in.UseNumber()
	if err := c.value(); err != nil {
		return nil, err
	}
	if _, err := c.in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return c.out.Bytes(), nil
}

type copier struct {
	in   *json.Decoder
	out  bytes.Buffer
	with func(path []string) (string, bool)
	path []string // names of the fields that lead to the current value
}

// value copies the next value.
func (c *copier) value() error {
	token, err := c.in.Token()
	if err != nil {
		return err
	}
	begin, ok := token.(json.Delim)
	if !ok {
		scalar(&c.out, token)
		return nil
	}
	c.out.WriteString(begin.String())
	for first := true; c.in.More(); first = false {
		if !first {
			c.out.WriteByte(',')
		}
		copied := c.value
		if begin == '{' {
			copied = c.field
		}
		if err := copied(); err != nil {
			return err
		}
	}
	end, err := c.in.Token()
	if err != nil {
		return err
	}
	c.out.WriteString(end.(json.Delim).String())
	return nil
}

// field copies the next field of an object.
func (c *copier) field() error {
	name, err := c.in.Token()
	if err != nil {
		return err
	}
	scalar(&c.out, name)
	c.out.WriteByte(':')
	c.path = append(c.path, name.(string)) // the decoder returns only strings here
	defer func() { c.path = c.path[:len(c.path)-1] }()
	text, replaced := c.with(c.path)
	if !replaced {
		return c.value()
	}
	var left json.RawMessage
	if err := c.in.Decode(&left); err != nil {
		return err
	}
	scalar(&c.out, text)
	return nil
}

// scalar writes a string, number, bool or null.
func scalar(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	out.Truncate(out.Len() - 1) // the line break of the encoder
}
