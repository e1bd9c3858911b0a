package faktory

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

// mostScanned is how many nested objects and arrays a scanned value may have.
const mostScanned = 100

// unmarshal decodes what a client sends: with scan, which reads what clients usually send at a fraction of the cost, or otherwise with
// encoding/json. Both read the same, but scan may leave parts of text in value.
func unmarshal[T any](text []byte, value *T, scan func(s *jsonscan.Scanner, value *T) bool) error {
	if !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' }) { // these are not allowed in the strings of JSON, but scan would accept them
		s := jsonscan.New(text)
		s.Space()
		if scan(&s, value) {
			if s.Space(); s.AtEnd() {
				return nil
			}
		}
		*value = *new(T)
	}
	return json.Unmarshal(text, value)
}

// explain describes an error of encoding/json without the terms of Go.
func explain(err error) string {
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	where := "it"
	if mismatch.Field != "" {
		where = mismatch.Field
	}
	want, known := typeNames[mismatch.Type.Kind()]
	if !known {
		want = "object"
	}
	given, value, _ := strings.Cut(mismatch.Value, " ")
	if value != "" { // a number that does not fit
		return fmt.Sprintf("%s is %.40s: give one of type %s", where, value, want)
	}
	return fmt.Sprintf("%s is of type %s: give one of type %s", where, given, want)
}

// typeNames are what JSON calls the types of fields.
var typeNames = map[reflect.Kind]string{
	reflect.String: "string", reflect.Slice: "array", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
}

// scanFields reads an object, and calls field for each of its fields, before the value.
func scanFields(s *jsonscan.Scanner, field func(name []byte) bool) bool {
	if !s.Take('{') {
		return false
	}
	if s.Space(); s.Take('}') {
		return true
	}
	for {
		s.Space()
		name, _, err := s.String()
		if s.Space(); err != nil || !s.Take(':') {
			return false
		}
		if s.Space(); !field(name) {
			return false
		}
		if s.Space(); s.Take('}') {
			return true
		}
		if !s.Take(',') {
			return false
		}
	}
}

// scanPushed reads a job. It leaves all other names to encoding/json, for which they may be one of these in capitals.
func scanPushed(s *jsonscan.Scanner, p *pushed) bool {
	return scanFields(s, func(name []byte) bool {
		switch string(name) {
		case "jid":
			return scanText(s, &p.ID)
		case "queue":
			return scanText(s, &p.Queue)
		case "jobtype":
			return scanText(s, &p.Kind)
		case "at":
			return scanText(s, &p.At)
		case "args":
			return scanRaw(s, &p.Args)
		case "priority":
			return scanRaw(s, &p.Priority)
		case "custom":
			return scanRaw(s, &p.Custom)
		case "retry":
			p.Retry = new(int)
			return scanInteger(s, p.Retry)
		case "backtrace":
			return scanInteger(s, &p.Backtrace)
		case "reserve_for":
			var seconds int
			ok := scanInteger(s, &seconds)
			p.Reserve = float64(seconds)
			return ok
		case "created_at", "enqueued_at":
			return s.Skip(mostScanned) == nil
		}
		return false
	})
}

// scanAllPushed reads an array of jobs.
func scanAllPushed(s *jsonscan.Scanner, all *[]pushed) bool {
	if !s.Take('[') {
		return false
	}
	for {
		var p pushed
		if s.Space(); !scanPushed(s, &p) {
			return false
		}
		*all = append(*all, p)
		if s.Space(); s.Take(']') {
			return true
		}
		if !s.Take(',') {
			return false
		}
	}
}

// scanAck reads the object of an ACK.
func scanAck(s *jsonscan.Scanner, a *ackArgs) bool {
	return scanFields(s, func(name []byte) bool { return string(name) == "jid" && scanText(s, &a.ID) })
}

func scanText(s *jsonscan.Scanner, text *string) bool {
	raw, _, err := s.String()
	*text = string(raw)
	return err == nil && plain(*text)
}

func scanRaw(s *jsonscan.Scanner, raw *json.RawMessage) bool {
	from := s.Offset()
	err := s.Skip(mostScanned)
	*raw = s.Since(from)
	return err == nil
}

func scanInteger(s *jsonscan.Scanner, n *int) (ok bool) {
	var err error
	*n, err = strconv.Atoi(string(s.Number()))
	return err == nil
}
