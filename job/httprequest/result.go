package httprequest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// A Result is the part of a response that is kept, as the result of the job.
type Result struct {
	Status int `json:"status"`
	// Headers are selected headers of the response, those that describe it, each up to 256 bytes.
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"` // if it is UTF-8
	// BodyBase64 is the body if it is not UTF-8.
	BodyBase64 []byte   `json:"body_base64,omitempty"`
	Truncated  bool     `json:"truncated,omitempty"` // the body is only the beginning, see Config.MaxBody
	Duration   Duration `json:"duration"`            // from the beginning of the attempt to the end of the response
}

const (
	maxDrained     = 64 << 10 // bytes that are read beyond what is kept, so that the connection can be used again
	maxHeaderValue = 256
	maxText        = 40 << 10 // bytes of the body's JSON, which with the headers is within job.MaxResult
)

// keptHeaders are the headers of a response that a result has.
var keptHeaders = []string{
	"Content-Type", "Content-Length", "Date", "Etag", "Last-Modified", "Location", "Request-Id", "Retry-After",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
}

// readBody returns the first bytes of a body, and whether there are more.
func readBody(r io.Reader, most int) (body []byte, cut bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(body) <= most {
		return body, false, err
	}
	_, _ = io.CopyN(io.Discard, r, maxDrained)
	return body[:most], true, nil
}

func newResult(answer *http.Response, body []byte, cut bool, took time.Duration) Result {
	r := Result{Status: answer.StatusCode, Truncated: cut, Duration: Duration(took.Round(time.Microsecond))}
	for _, name := range keptHeaders {
		if value := answer.Header.Get(name); value != "" {
			if r.Headers == nil {
				r.Headers = make(map[string]string)
			}
			if name == "Location" {
				value = withoutUser(value)
			}
			r.Headers[name] = strings.ToValidUTF8(value[:min(len(value), maxHeaderValue)], "")
		}
	}
	whole := body
	if cut {
		whole = wholeRunes(body)
	}
	if !utf8.Valid(whole) {
		r.BodyBase64 = body
		return r
	}
	r.Body = string(whole)
	// Some characters take six bytes in JSON.
	for {
		if text, err := json.Marshal(r.Body); err == nil && len(text) <= maxText {
			return r
		}
		r.Body, r.Truncated = string(wholeRunes([]byte(r.Body[:len(r.Body)/2]))), true
	}
}

// withoutUser removes the user and the password from a URL.
func withoutUser(text string) string {
	if u, err := url.Parse(text); err == nil {
		u.User = nil
		return u.String()
	}
	return "(not well-formed)"
}

// wholeRunes removes an incomplete rune at the end.
func wholeRunes(text []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(text)); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return text[:at]
			}
			break
		}
	}
	return text
}
