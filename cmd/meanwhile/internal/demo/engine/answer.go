package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// An answer is a response: a status and a value that is sent as JSON.
type answer struct {
	status int
	body   any
}

// A refusal is an error that the client has caused, in the format of OpenSearch.
type refusal struct {
	status       int
	kind, reason string
}

func (r *refusal) Error() string { return r.kind + ": " + r.reason }

func refuse(status int, kind, format string, args ...any) error {
	return &refusal{status, kind, strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")}
}

func malformed(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "parsing_exception", format, args...)
}

type failure struct {
	Cause  []cause `json:"root_cause"`
	Type   string  `json:"type"`
	Reason string  `json:"reason"`
}

type cause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

func (r *refusal) failure() failure {
	return failure{[]cause{{r.kind, r.reason}}, r.kind, r.reason}
}

// refusalOf returns the response for an error: an error that is not a refusal is an internal error of the engine.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{http.StatusInternalServerError, "exception", err.Error()}
}

// reply answers a request with the result of f.
func reply(w http.ResponseWriter, r *http.Request, f func(*http.Request) (answer, error)) {
	a, err := f(r)
	if err != nil {
		refused := refusalOf(err)
		a = answer{refused.status, map[string]any{"error": refused.failure(), "status": refused.status}}
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		panic(err) // the value was decoded from JSON or created here
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(a.status)
	_, _ = w.Write(append(text, '\n'))
}

func (e *Engine) name(*http.Request) (answer, error) {
	return answer{http.StatusOK, map[string]any{"name": "meanwhile demo", "tagline": "A small search engine to wait for"}}, nil
}

func noHandler(r *http.Request) (answer, error) {
	return answer{}, refuse(http.StatusBadRequest, "illegal_argument_exception", "no handler found for uri [%.200s] and method [%.20s]", r.URL.EscapedPath(), r.Method)
}

// readBody reads the body of a request, which must be UTF-8 text.
func readBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(http.StatusRequestEntityTooLarge, "content_too_long_exception", "the body is longer than [%d] bytes", long.Limit)
	}
	if err != nil {
		return nil, malformed("the body broke off: %v", err)
	}
	if !utf8.Valid(text) {
		return nil, malformed("the body is not UTF-8")
	}
	return text, nil
}

// decode decodes JSON into v. Unknown fields are an error: the client would expect them to have an effect.
func decode(text []byte, v any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return malformed("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("something follows the JSON object of the body")
	}
	return nil
}
