// Package problem writes error responses as problem details (RFC 9457).
package problem

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// Type is the media type of problem details.
const Type = "application/problem+json"

// Write writes an error response: a status and one line that says what was wrong and what to do. more are additional members;
// they do not replace the standard ones.
func Write(w http.ResponseWriter, status int, detail string, more map[string]any) {
	members := maps.Clone(more)
	if members == nil {
		members = map[string]any{}
	}
	members["title"], members["status"], members["detail"] = http.StatusText(status), status, detail
	text, err := json.Marshal(members)
	if err != nil {
		panic("problem: " + err.Error()) // all members come from this module
	}
	h := w.Header()
	h.Set("Content-Type", Type)
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
