package dash

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// A stream sends server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    time.Time
	failing bool
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that collect what they pass on
	s := &stream{w: w, control: http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{}) // a server's limit for requests would end the stream, too
	return s
}

// parts sends the HTML of changed parts as an object, by ID. Without any it is silent, unless that was long.
func (s *stream) parts(changed map[string]string) error {
	switch {
	case len(changed) > 0 || s.failing:
		s.failing = false
		return s.send("parts", changed)
	case time.Since(s.sent) >= beat:
		return s.write([]byte(":\n\n"))
	}
	return nil
}

// trouble tells that the page could not be read, the first time.
func (s *stream) trouble(text string) error {
	if s.failing && time.Since(s.sent) < beat {
		return nil
	}
	s.failing = true
	return s.send("trouble", text)
}

func (s *stream) send(event string, data any) error {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\ndata: ")
	encoder := json.NewEncoder(&b) // which writes no line break but the last
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return err
	}
	b.WriteString("\n")
	return s.write(b.Bytes())
}

func (s *stream) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(mostWrite)) // where the server can
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	s.sent = time.Now()
	return s.control.Flush()
}
