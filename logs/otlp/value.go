package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of AnyValue. If a message has several, the last one counts.
const (
	stringValue = 1
	boolValue   = 2
	intValue    = 3
	doubleValue = 4
	arrayValue  = 5
	kvlistValue = 6
	bytesValue  = 7
)

// readValue returns the field of an AnyValue that is set, or a field with the number zero if none is.
func readValue(b []byte) (value field, err error) {
	for len(b) > 0 {
		var f field
		if f, b, err = next(b); err != nil {
			return field{}, err
		}
		switch f.number {
		case stringValue, arrayValue, kvlistValue, bytesValue:
			if f.kind == protowire.BytesType {
				value = f
			}
		case boolValue, intValue:
			if f.kind == protowire.VarintType {
				value = f
			}
		case doubleValue:
			if f.kind == protowire.Fixed64Type {
				value = f
			}
		}
	}
	return value, nil
}

// readPair reads a KeyValue.
func readPair(b []byte) (key, value []byte, err error) {
	for len(b) > 0 {
		var f field
		if f, b, err = next(b); err != nil {
			return nil, nil, err
		}
		switch {
		case f.message(1):
			key = f.data
		case f.message(2):
			value = f.data
		}
	}
	return key, value, nil
}

// attr returns a value that is not a KeyValueList as an attribute.
func attr(key string, f field) (a slog.Attr, err error) {
	switch f.number {
	case stringValue:
		return slog.String(key, string(f.data)), nil
	case boolValue:
		return slog.Bool(key, f.bits != 0), nil
	case intValue:
		return slog.Int64(key, int64(f.bits)), nil
	case doubleValue:
		return slog.Float64(key, math.Float64frombits(f.bits)), nil
	case bytesValue:
		return slog.String(key, base64.StdEncoding.EncodeToString(f.data)), nil
	}
	text, err := appendJSON(nil, f, 0)
	return slog.Any(key, json.RawMessage(text)), err
}

// text returns the text of a body: a string as it is, bytes in base64, other values as JSON.
func text(f field) ([]byte, error) {
	switch f.number {
	case 0:
		return nil, nil
	case stringValue:
		return f.data, nil
	case bytesValue:
		return base64.StdEncoding.AppendEncode(nil, f.data), nil
	case doubleValue:
		return strconv.AppendFloat(nil, math.Float64frombits(f.bits), 'g', -1, 64), nil
	}
	return appendJSON(nil, f, 0)
}

// appendJSON appends a value as JSON.
func appendJSON(b []byte, f field, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errMalformed
	}
	switch f.number {
	case stringValue:
		return jsontext.AppendString(b, f.data), nil
	case boolValue:
		return strconv.AppendBool(b, f.bits != 0), nil
	case intValue:
		return strconv.AppendInt(b, int64(f.bits), 10), nil
	case doubleValue:
		return jsontext.AppendFloat(b, math.Float64frombits(f.bits)), nil
	case bytesValue:
		return jsontext.AppendString(b, base64.StdEncoding.EncodeToString(f.data)), nil
	case arrayValue:
		return appendList(append(b, '['), f.data, ']', depth)
	case kvlistValue:
		return appendList(append(b, '{'), f.data, '}', depth)
	}
	return append(b, "null"...), nil
}

// appendList appends the members of an ArrayValue or a KeyValueList as JSON, and the closing bracket.
func appendList(b, members []byte, bracket byte, depth int) ([]byte, error) {
	for first := true; len(members) > 0; {
		f, rest, err := next(members)
		if err != nil {
			return nil, err
		}
		if members = rest; !f.message(1) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		data := f.data
		if bracket == '}' {
			key, value, err := readPair(data)
			if err != nil {
				return nil, err
			}
			b, data = append(jsontext.AppendString(b, key), ':'), value
		}
		value, err := readValue(data)
		if err == nil {
			b, err = appendJSON(b, value, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, bracket), nil
}

// appendAttr appends a KeyValue as the field with this number.
func appendAttr(b []byte, number protowire.Number, key string, value slog.Value) []byte {
	b, pair := beginField(b, number)
	b = appendText(b, 1, valid(key))
	b, at := beginField(b, 2)
	switch value.Kind() {
	case slog.KindBool:
		bit := uint64(0)
		if value.Bool() {
			bit = 1
		}
		b = appendVarint(b, boolValue, bit)
	case slog.KindInt64:
		b = appendVarint(b, intValue, uint64(value.Int64()))
	case slog.KindUint64:
		if x := value.Uint64(); x <= math.MaxInt64 {
			b = appendVarint(b, intValue, x)
		} else {
			b = appendBytes(b, stringValue, strconv.FormatUint(x, 10))
		}
	case slog.KindFloat64:
		b = appendFixed64(b, doubleValue, math.Float64bits(value.Float64()))
	case slog.KindTime:
		b = appendBytes(b, stringValue, value.Time().UTC().Format(time.RFC3339Nano))
	default:
		text, ok := value.Any().(json.RawMessage)
		if !ok {
			b = appendBytes(b, stringValue, valid(value.String()))
		} else if x, err := readJSON(text); err != nil {
			b = appendBytes(b, stringValue, valid(string(text)))
		} else {
			b = appendAny(b, x, 0)
		}
	}
	return endField(endField(b, at), pair)
}

// readJSON decodes a text that is one JSON value. Numbers keep all their digits.
func readJSON(text []byte) (x any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err = decoder.Decode(&x); err != nil {
		return nil, err
	}
	if _, err = decoder.Token(); err != io.EOF {
		return nil, errMalformed
	}
	return x, nil
}

// appendAny appends the fields of an AnyValue for a JSON value. An integer beyond 64 bits with a sign, or another number beyond a
// double, becomes a string, and so does a value that is nested too deeply.
func appendAny(b []byte, x any, depth int) []byte {
	if depth == maxDepth {
		switch x.(type) {
		case []any, map[string]any:
			text, _ := json.Marshal(x) // never fails, since x was decoded from JSON
			return appendBytes(b, stringValue, string(text))
		}
	}
	switch x := x.(type) {
	case string:
		return appendBytes(b, stringValue, x)
	case bool:
		if x {
			return appendVarint(b, boolValue, 1)
		}
		return appendVarint(b, boolValue, 0)
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return appendVarint(b, intValue, uint64(n))
		}
		if f, err := x.Float64(); err == nil && strings.ContainsAny(x.String(), ".eE") {
			return appendFixed64(b, doubleValue, math.Float64bits(f))
		}
		return appendBytes(b, stringValue, x.String())
	case []any:
		b, list := beginField(b, arrayValue)
		for _, member := range x {
			var at int
			b, at = beginField(b, 1)
			b = endField(appendAny(b, member, depth+1), at)
		}
		return endField(b, list)
	case map[string]any:
		b, list := beginField(b, kvlistValue)
		for _, key := range slices.Sorted(maps.Keys(x)) {
			var pair, at int
			b, pair = beginField(b, 1)
			b, at = beginField(appendText(b, 1, key), 2)
			b = endField(endField(appendAny(b, x[key], depth+1), at), pair)
		}
		return endField(b, list)
	}
	return b // null
}

// valid returns a text as valid UTF-8, which protobuf requires.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }
