package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/jsontext"
)

// MarshalJSON encodes the record as one line, in the form that this module uses for records in JSON:
//
//	{"time":"2026-05-04T03:02:01.5Z","level":"WARN","service":"api","message":"timed out","task":"main/search",
//	 "job":"01JX…","number":17,"attrs":{"http.status":503,"took":"1.5s"}}
//
// Task, job, number and attrs are left out if there are none. Durations are written as Go writes them, times in RFC 3339, and a number
// that is not an integer has a point or an exponent. Control characters are escaped, even those that JSON allows.
func (r Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON returns, without a newline.
func (r *Record) AppendJSON(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":`...)
	b = jsontext.AppendString(b, r.Level.String())
	b = append(b, `,"service":`...)
	b = jsontext.AppendString(b, r.Service)
	b = append(b, `,"message":`...)
	b = jsontext.AppendString(b, r.Message)
	if r.Task != "" {
		b = jsontext.AppendString(append(b, `,"task":`...), r.Task)
	}
	if r.Job != "" {
		b = jsontext.AppendString(append(b, `,"job":`...), r.Job)
	}
	if r.Number != 0 {
		b = strconv.AppendUint(append(b, `,"number":`...), r.Number, 10)
	}
	if len(r.Attrs) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"attrs":{`...)
	for i, a := range r.Attrs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, a.Key), ':')
		b = jsontext.AppendValue(b, a.Value)
	}
	return append(b, "}}"...)
}

// UnmarshalJSON reads what MarshalJSON writes. Attributes keep their order: texts, integers, other numbers and booleans are read
// as such, everything else as json.RawMessage. Durations and times become texts, as JSON has no type for them.
func (r *Record) UnmarshalJSON(data []byte) error {
	var members struct {
		Time    time.Time       `json:"time"`
		Level   slog.Level      `json:"level"`
		Service string          `json:"service"`
		Message string          `json:"message"`
		Task    string          `json:"task"`
		Job     string          `json:"job"`
		Number  uint64          `json:"number"`
		Attrs   json.RawMessage `json:"attrs"`
	}
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("read a record: %w", err)
	}
	attrs, err := readJSONAttrs(members.Attrs)
	if err != nil {
		return fmt.Errorf("read the attributes of a record: %w", err)
	}
	*r = Record{
		Time: members.Time.UTC(), Level: members.Level, Service: members.Service, Message: members.Message,
		Task: members.Task, Job: members.Job, Number: members.Number, Attrs: attrs,
	}
	return nil
}

func readJSONAttrs(data json.RawMessage) (attrs []slog.Attr, err error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] != '{' {
		return nil, errors.New("they are not an object")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	_, _ = decoder.Token() // the brace
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		attrs = append(attrs, slog.Attr{Key: key.(string), Value: readJSONValue(raw)})
	}
	return attrs, nil
}

func readJSONValue(raw json.RawMessage) slog.Value {
	text := string(raw)
	switch text[0] {
	case '"':
		if json.Unmarshal(raw, &text) == nil {
			return slog.StringValue(text)
		}
	case 't', 'f':
		return slog.BoolValue(text[0] == 't')
	case '{', '[', 'n':
	default:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return slog.Int64Value(n)
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return slog.Uint64Value(n)
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return slog.Float64Value(f)
		}
	}
	return slog.AnyValue(raw)
}
