package httprequest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/retry"
)

// Args are the args of a job of [Kind]: a request, and what is expected of the response.
type Args struct {
	Method  string            `json:"method,omitempty"` // default GET
	URL     string            `json:"url"`              // http or https; user and password in it are sent as basic authentication
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	JSON    json.RawMessage   `json:"json,omitempty"` // sent as the body instead, with Content-Type application/json
	// Expect lists the statuses that count as success; default 200 to 299. A redirect is followed unless its own status is among
	// them.
	Expect  Statuses `json:"expect,omitempty"`
	Timeout Duration `json:"timeout,omitempty"` // of the attempt, including reading the response; default 30 s, at most 1 h
	// Sign signs the request if the handler has a key, see Config.SigningKey.
	Sign bool `json:"sign,omitempty"`
}

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = time.Hour
)

func (a *Args) timeout() time.Duration {
	if a.Timeout == 0 {
		return defaultTimeout
	}
	return time.Duration(a.Timeout)
}

// ParseArgs decodes args from JSON and checks them.
func ParseArgs(text []byte) (Args, error) {
	var a Args
	if err := json.Unmarshal(text, &a); err != nil {
		return Args{}, explainJSON(err)
	}
	return a, a.Check()
}

// UnmarshalJSON decodes args; an unknown field is an error. Its errors are marked as permanent.
func (a *Args) UnmarshalJSON(text []byte) error {
	type plain Args // has no methods
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var p plain
	if err := decoder.Decode(&p); err != nil {
		return retry.Permanent(explainJSON(err))
	}
	*a = Args(p)
	return nil
}

// explainJSON describes an error of encoding/json in terms of the args.
func explainJSON(err error) error {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, _, _ := strings.Cut(mismatch.Value, " ") // the rest is the value
		if mismatch.Field == "" {
			return fmt.Errorf("the args are of type %s; give an object, such as {\"url\":\"https://example.com\"}", given)
		}
		wanted := map[reflect.Kind]string{reflect.String: "string", reflect.Map: "object", reflect.Slice: "array"}[mismatch.Type.Kind()]
		return fmt.Errorf("%q is of type %s; give one of type %s", mismatch.Field, given, wanted)
	}
	if text, ok := strings.CutPrefix(err.Error(), "json: "); ok {
		return errors.New(text)
	}
	return err
}

// A Duration is a time.Duration that is written as "1m30s" in JSON, and also read as a number of seconds.
type Duration time.Duration

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalJSON reads what MarshalText wrote, or a number of seconds.
func (d *Duration) UnmarshalJSON(text []byte) error {
	wrong := func() error { return fmt.Errorf(`%.30s is not a duration: give one such as "30s", or seconds`, text) }
	var seconds float64
	if json.Unmarshal(text, &seconds) == nil {
		if seconds < -1e9 || seconds > 1e9 {
			return wrong()
		}
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	var quoted string
	if err := json.Unmarshal(text, &quoted); err != nil {
		return wrong()
	}
	parsed, err := time.ParseDuration(quoted)
	if err != nil {
		return wrong()
	}
	*d = Duration(parsed)
	return nil
}
