package dash

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// An event is a server-sent event, as it is and deflated: it is made once for all streams that send it.
type event struct{ plain, deflated []byte }

func newEvent(plain []byte) *event { return &event{plain, deflated(plain)} }

// dataEvent makes an event of data.
func dataEvent(name string, data any) (*event, error) {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	encoder := json.NewEncoder(&b) // which writes no line break but the last
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return nil, err
	}
	b.WriteString("\n")
	return newEvent(b.Bytes()), nil
}

var (
	alive   = sync.OnceValue(func() *event { return newEvent([]byte(":\n\n")) })                      // a comment
	nothing = sync.OnceValue(func() *event { return newEvent([]byte("event: parts\ndata: {}\n\n")) }) // is different, and the page can be read
)

// A stream sends server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	packed  bool // by gzip
	gzip    gzipStream
	sent    time.Time
	failing bool
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that collect what they pass on
	s := &stream{w: w, control: http.NewResponseController(w), packed: acceptsGzip(r)}
	if s.packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	_ = s.control.SetReadDeadline(time.Time{}) // a server's limit for requests would end the stream, too
	return s
}

// parts sends the HTML of changed parts as an object, by ID. Without any, for nil, it is silent, unless that was long.
func (s *stream) parts(changed *event) error {
	switch {
	case changed != nil:
	case s.failing:
		changed = nothing()
	case time.Since(s.sent) >= beat:
		changed = alive()
	default:
		return nil
	}
	s.failing = false
	return s.send(changed)
}

// trouble tells that the page could not be read, the first time.
func (s *stream) trouble(text string) error {
	if s.failing && time.Since(s.sent) < beat {
		return nil
	}
	s.failing = true
	e, err := dataEvent("trouble", text)
	if err != nil {
		return err
	}
	return s.send(e)
}

func (s *stream) send(e *event) error {
	if !s.packed {
		return s.write(e.plain)
	}
	s.gzip.add(e.plain)
	if s.sent.IsZero() {
		return s.write(gzipHead, e.deflated)
	}
	return s.write(e.deflated)
}

// end ends the stream, of which the browser may have left.
func (s *stream) end() {
	if s.packed && !s.sent.IsZero() {
		_ = s.write(s.gzip.end())
	}
}

func (s *stream) write(texts ...[]byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(mostWrite)) // where the server can
	for _, b := range texts {
		if _, err := s.w.Write(b); err != nil {
			return err
		}
	}
	s.sent = time.Now()
	return s.control.Flush()
}
