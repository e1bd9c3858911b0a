// Package problem writes what was wrong with a request as problem details (RFC 9457).
package problem

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// Type is the media type of problem details.
const Type = "application/problem+json"

// Write answers with a status and one line that says what was wrong and what to do. More members may go with it; they
// replace none of those that every problem has.
func Write(w http.ResponseWriter, status int, detail string, more map[string]any) {
	members := maps.Clone(more)
	if members == nil {
		members = map[string]any{}
	}
	members["title"], members["status"], members["detail"] = http.StatusText(status), status, detail
	text, err := json.Marshal(members)
	if err != nil {
		panic("problem: " + err.Error()) // the members are this module's own
	}
	h := w.Header()
	h.Set("Content-Type", Type)
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
