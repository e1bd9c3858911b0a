package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

// The functions below translate a request in JSON to protobuf, so that one decoder reads both. They read objects and lists in place: nothing is
// copied but strings, one at a time, however deep a value is nested. As the specification says, trace and span IDs are hexadecimal, integers of 64 bits
// may be strings, and unknown names are ignored. As for encoding/json, names are the same in any case, the last of the same name counts, and null is
// nothing.

// Names of fields. For a record, those of numbers come first.
var (
	requestNames  = []string{"resourceLogs"}
	resourceNames = []string{"resource", "scopeLogs"}
	ownNames      = []string{"attributes"}
	scopedNames   = []string{"scope", "logRecords"}
	scopeNames    = []string{"name", "version", "attributes"}
	recordNames   = []string{
		"timeUnixNano", "severityNumber", "droppedAttributesCount", "flags", "observedTimeUnixNano",
		"severityText", "body", "attributes", "traceId", "spanId", "eventName",
	}
	pairNames   = []string{"key", "value"}
	valueNames  = []string{"stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"}
	memberNames = []string{"values"}
)

// fromJSON translates a request to protobuf.
func fromJSON(text []byte) ([]byte, error) {
	err := json.Unmarshal(text, &struct{}{}) // what follows expects valid JSON
	var b []byte
	if err == nil {
		b, err = appendRequest(make([]byte, 0, len(text)), bytes.TrimSpace(text))
	}
	if err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	return b, nil
}

// appendEach appends each member of a list as a message in the field with this number.
func appendEach(b []byte, number protowire.Number, list []byte, put func(b, text []byte) ([]byte, error)) ([]byte, error) {
	for text, err := range members(list) {
		if err != nil {
			return nil, err
		}
		var at int
		b, at = beginField(b, number)
		if b, err = put(b, text); err != nil {
			return nil, err
		}
		b = endField(b, at)
	}
	return b, nil
}

var (
	errNoList   = errors.New("no list where one belongs")
	errNoObject = errors.New("no object where one belongs")
)

// mostLevels is the maximum depth of nesting that encoding/json accepts.
const mostLevels = 10_000

// members yields the members of a list as parts of its text, which is valid JSON.
func members(list []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if len(list) == 0 {
			return
		}
		s := jsonscan.New(list)
		if !s.Take('[') {
			yield(nil, errNoList)
			return
		}
		for s.Space(); !s.Take(']'); s.Space() {
			from := s.Offset()
			err := s.Skip(mostLevels)
			if !yield(s.Since(from), err) || err != nil {
				return
			}
			s.Space()
			s.Take(',')
		}
	}
}

// fields sets values to the fields with these names of an object, as parts of its text, which is valid JSON. Without a text all are nil, as are those
// that are missing.
func fields(object []byte, names []string, values [][]byte) error {
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	s := jsonscan.New(object)
	if !s.Take('{') {
		return errNoObject
	}
	for s.Space(); !s.Take('}'); s.Space() {
		name, escaped, err := s.String()
		if err == nil && escaped {
			name, err = jsonscan.Unescape(nil, name)
		}
		if err != nil {
			return err
		}
		s.Space()
		s.Take(':')
		s.Space()
		from := s.Offset()
		if err := s.Skip(mostLevels); err != nil {
			return err
		}
		for i := range names {
			if value := s.Since(from); string(value) != "null" && bytes.EqualFold(name, []byte(names[i])) {
				values[i] = value
			}
		}
		s.Space()
		s.Take(',')
	}
	return nil
}

// decode decodes a value, or returns the zero T if there is none.
func decode[T any](text []byte) (x T, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &x)
	}
	return x, err
}

// appendString appends a string as the field with this number.
func appendString(b []byte, number protowire.Number, text []byte) ([]byte, error) {
	x, err := decode[string](text)
	return appendText(b, number, x), err
}

func appendRequest(b, text []byte) ([]byte, error) {
	var v [1][]byte
	if err := fields(text, requestNames, v[:]); err != nil {
		return nil, err
	}
	return appendEach(b, 1, v[0], appendResourceLogs)
}

func appendResourceLogs(b, text []byte) ([]byte, error) {
	var v [2][]byte
	if err := fields(text, resourceNames, v[:]); err != nil {
		return nil, err
	}
	var resource [1][]byte
	err := fields(v[0], ownNames, resource[:])
	b, at := beginField(b, 1)
	if err == nil {
		b, err = appendEach(b, 1, resource[0], appendPair(0))
	}
	if err != nil {
		return nil, err
	}
	return appendEach(endField(b, at), 2, v[1], appendScopeLogs)
}

func appendScopeLogs(b, text []byte) ([]byte, error) {
	var v [2][]byte
	if err := fields(text, scopedNames, v[:]); err != nil {
		return nil, err
	}
	b, at := beginField(b, 1)
	b, err := appendScope(b, v[0])
	if err != nil {
		return nil, err
	}
	return appendEach(endField(b, at), 2, v[1], appendRecord)
}

func appendScope(b, text []byte) ([]byte, error) {
	var v [3][]byte
	err := fields(text, scopeNames, v[:])
	for i := 0; i < 2 && err == nil; i++ {
		b, err = appendString(b, protowire.Number(1+i), v[i])
	}
	if err != nil {
		return nil, err
	}
	return appendEach(b, 3, v[2], appendPair(0))
}

func appendRecord(b, text []byte) (_ []byte, err error) {
	var v [11][]byte
	if err := fields(text, recordNames, v[:]); err != nil {
		return nil, err
	}
	for i, n := range []struct {
		number protowire.Number
		put    func(b []byte, number protowire.Number, x uint64) []byte
	}{{1, appendFixed64}, {2, appendVarint}, {7, appendVarint}, {8, appendFixed32}, {11, appendFixed64}} {
		number, err := decode[json.Number](v[i])
		if err != nil {
			return nil, err
		}
		if number == "" { // without its field, an empty record is no longer than its text
			continue
		}
		bits, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil {
			return nil, err
		}
		b = n.put(b, n.number, bits)
	}
	severity, body, attributes, ids, event := v[5], v[6], v[7], v[8:10], v[10]
	if b, err = appendString(b, 3, severity); err != nil {
		return nil, err
	}
	if len(body) > 0 {
		var at int
		b, at = beginField(b, 5)
		if b, err = appendValue(b, body, 0); err != nil {
			return nil, err
		}
		b = endField(b, at)
	}
	if b, err = appendEach(b, 6, attributes, appendPair(0)); err != nil {
		return nil, err
	}
	for i := range ids {
		text, err := decode[string](ids[i])
		if err != nil {
			return nil, err
		}
		id, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		b = appendText(b, protowire.Number(9+i), id)
	}
	return appendString(b, 12, event)
}

func appendPair(depth int) func(b, text []byte) ([]byte, error) {
	return func(b, text []byte) (_ []byte, err error) {
		var v [2][]byte
		if err := fields(text, pairNames, v[:]); err != nil {
			return nil, err
		}
		if b, err = appendString(b, 1, v[0]); err != nil || len(v[1]) == 0 {
			return b, err
		}
		b, at := beginField(b, 2)
		if b, err = appendValue(b, v[1], depth); err != nil {
			return nil, err
		}
		return endField(b, at), nil
	}
}

func appendValue(b, text []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errMalformed
	}
	var v [7][]byte
	if err := fields(text, valueNames, v[:]); err != nil {
		return nil, err
	}
	switch {
	case v[0] != nil:
		x, err := decode[string](v[0])
		return appendBytes(b, stringValue, x), err
	case v[1] != nil:
		x, err := decode[bool](v[1])
		if x {
			return appendVarint(b, boolValue, 1), err
		}
		return appendVarint(b, boolValue, 0), err
	case v[2] != nil:
		x, err := decode[json.Number](v[2])
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(string(x), 10, 64)
		return appendVarint(b, intValue, uint64(n)), err
	case v[3] != nil:
		n, err := double(v[3])
		return appendFixed64(b, doubleValue, math.Float64bits(n)), err
	case v[4] != nil:
		x, err := decode[[]byte](v[4])
		return appendBytes(b, bytesValue, x), err
	case v[5] != nil:
		return appendMembers(b, arrayValue, v[5], func(b, member []byte) ([]byte, error) { return appendValue(b, member, depth+1) })
	case v[6] != nil:
		return appendMembers(b, kvlistValue, v[6], appendPair(depth+1))
	}
	return b, nil
}

// appendMembers appends an ArrayValue or a KeyValueList as the field with this number.
func appendMembers(b []byte, number protowire.Number, text []byte, put func(b, text []byte) ([]byte, error)) ([]byte, error) {
	var v [1][]byte
	if err := fields(text, memberNames, v[:]); err != nil {
		return nil, err
	}
	b, at := beginField(b, number)
	b, err := appendEach(b, 1, v[0], put)
	if err != nil {
		return nil, err
	}
	return endField(b, at), nil
}

// double reads a number, or NaN or an infinity, which are strings in JSON.
func double(text []byte) (float64, error) {
	if unquoted, err := strconv.Unquote(string(text)); err == nil {
		text = []byte(unquoted)
	}
	return strconv.ParseFloat(string(text), 64)
}
