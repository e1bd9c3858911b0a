package otlp

import (
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

// The functions below translate a request in JSON to protobuf, so that one decoder reads both. Lists are kept as text and decoded
// member by member, so that a list of many short members needs no more memory than its text. As the specification says, trace and
// span IDs are hexadecimal, integers of 64 bits may be strings, and unknown names are ignored.

type (
	jsonList = json.RawMessage

	jsonRequest struct {
		ResourceLogs jsonList `json:"resourceLogs"`
	}
	jsonResourceLogs struct {
		Resource  jsonResource `json:"resource"`
		ScopeLogs jsonList     `json:"scopeLogs"`
	}
	jsonResource struct {
		Attributes jsonList `json:"attributes"`
	}
	jsonScopeLogs struct {
		Scope      jsonScope `json:"scope"`
		LogRecords jsonList  `json:"logRecords"`
	}
	jsonScope struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Attributes jsonList `json:"attributes"`
	}
	jsonRecord struct {
		Time         json.Number     `json:"timeUnixNano"`
		Observed     json.Number     `json:"observedTimeUnixNano"`
		Severity     json.Number     `json:"severityNumber"`
		SeverityText string          `json:"severityText"`
		Body         json.RawMessage `json:"body"`
		Attributes   jsonList        `json:"attributes"`
		Dropped      json.Number     `json:"droppedAttributesCount"`
		Flags        json.Number     `json:"flags"`
		Trace        string          `json:"traceId"`
		Span         string          `json:"spanId"`
		Event        string          `json:"eventName"`
	}
	jsonPair struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	jsonValue struct {
		String *string         `json:"stringValue"`
		Bool   *bool           `json:"boolValue"`
		Int    *json.Number    `json:"intValue"`
		Double json.RawMessage `json:"doubleValue"`
		Array  *jsonMembers    `json:"arrayValue"`
		Pairs  *jsonMembers    `json:"kvlistValue"`
		Bytes  *[]byte         `json:"bytesValue"`
	}
	jsonMembers struct {
		Values jsonList `json:"values"`
	}
)

// fromJSON translates a request to protobuf.
func fromJSON(text []byte) ([]byte, error) {
	var r jsonRequest
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	b, err := appendEach(make([]byte, 0, len(text)), 1, r.ResourceLogs, appendResourceLogs)
	if err != nil {
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	return b, nil
}

// appendEach appends each member of a list as a message in the field with this number.
func appendEach[T any](b []byte, number protowire.Number, list jsonList, put func(b []byte, x *T) ([]byte, error)) ([]byte, error) {
	for text, err := range members(list) {
		if err != nil {
			return nil, err
		}
		var x T
		if err := json.Unmarshal(text, &x); err != nil {
			return nil, err
		}
		var at int
		b, at = beginField(b, number)
		if b, err = put(b, &x); err != nil {
			return nil, err
		}
		b = endField(b, at)
	}
	return b, nil
}

var errNoList = errors.New("no list where one belongs")

// mostLevels is the maximum depth of nesting that encoding/json accepts.
const mostLevels = 10_000

// members yields the members of a list as parts of its text. The list is valid JSON, since it was decoded as a part of the request.
func members(list jsonList) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if len(list) == 0 || string(list) == "null" {
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

func appendResourceLogs(b []byte, x *jsonResourceLogs) (_ []byte, err error) {
	b, at := beginField(b, 1)
	if b, err = appendEach(b, 1, x.Resource.Attributes, appendPair(0)); err != nil {
		return nil, err
	}
	return appendEach(endField(b, at), 2, x.ScopeLogs, appendScopeLogs)
}

func appendScopeLogs(b []byte, x *jsonScopeLogs) (_ []byte, err error) {
	b, at := beginField(b, 1)
	b = appendText(appendText(b, 1, x.Scope.Name), 2, x.Scope.Version)
	if b, err = appendEach(b, 3, x.Scope.Attributes, appendPair(0)); err != nil {
		return nil, err
	}
	return appendEach(endField(b, at), 2, x.LogRecords, appendRecord)
}

func appendRecord(b []byte, x *jsonRecord) (_ []byte, err error) {
	for _, n := range []struct {
		text   json.Number
		number protowire.Number
		put    func(b []byte, number protowire.Number, x uint64) []byte
	}{{x.Time, 1, appendFixed64}, {x.Severity, 2, appendVarint}, {x.Dropped, 7, appendVarint}, {x.Flags, 8, appendFixed32}, {x.Observed, 11, appendFixed64}} {
		if n.text == "" { // without its field, an empty record is no longer than its text
			continue
		}
		bits, err := strconv.ParseUint(string(n.text), 10, 64)
		if err != nil {
			return nil, err
		}
		b = n.put(b, n.number, bits)
	}
	b = appendText(b, 3, x.SeverityText)
	if len(x.Body) > 0 {
		var at int
		b, at = beginField(b, 5)
		if b, err = appendValue(b, x.Body, 0); err != nil {
			return nil, err
		}
		b = endField(b, at)
	}
	if b, err = appendEach(b, 6, x.Attributes, appendPair(0)); err != nil {
		return nil, err
	}
	for i, text := range []string{x.Trace, x.Span} {
		id, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		b = appendText(b, protowire.Number(9+i), id)
	}
	return appendText(b, 12, x.Event), nil
}

func appendPair(depth int) func(b []byte, x *jsonPair) ([]byte, error) {
	return func(b []byte, x *jsonPair) (_ []byte, err error) {
		b = appendText(b, 1, x.Key)
		if len(x.Value) == 0 {
			return b, nil
		}
		b, at := beginField(b, 2)
		if b, err = appendValue(b, x.Value, depth); err != nil {
			return nil, err
		}
		return endField(b, at), nil
	}
}

func appendValue(b []byte, text json.RawMessage, depth int) (_ []byte, err error) {
	if depth > maxDepth {
		return nil, errMalformed
	}
	var x jsonValue
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, err
	}
	switch {
	case x.String != nil:
		return appendBytes(b, stringValue, *x.String), nil
	case x.Bool != nil:
		if *x.Bool {
			return appendVarint(b, boolValue, 1), nil
		}
		return appendVarint(b, boolValue, 0), nil
	case x.Int != nil:
		n, err := strconv.ParseInt(string(*x.Int), 10, 64)
		return appendVarint(b, intValue, uint64(n)), err
	case len(x.Double) > 0:
		n, err := double(x.Double)
		return appendFixed64(b, doubleValue, math.Float64bits(n)), err
	case x.Bytes != nil:
		return appendBytes(b, bytesValue, *x.Bytes), nil
	case x.Array != nil:
		b, at := beginField(b, arrayValue)
		for member, err := range members(x.Array.Values) {
			if err != nil {
				return nil, err
			}
			var inner int
			b, inner = beginField(b, 1)
			if b, err = appendValue(b, member, depth+1); err != nil {
				return nil, err
			}
			b = endField(b, inner)
		}
		return endField(b, at), nil
	case x.Pairs != nil:
		b, at := beginField(b, kvlistValue)
		if b, err = appendEach(b, 1, x.Pairs.Values, appendPair(depth+1)); err != nil {
			return nil, err
		}
		return endField(b, at), nil
	}
	return b, nil
}

// double reads a number, or NaN or an infinity, which are strings in JSON.
func double(text []byte) (float64, error) {
	if unquoted, err := strconv.Unquote(string(text)); err == nil {
		text = []byte(unquoted)
	}
	return strconv.ParseFloat(string(text), 64)
}
