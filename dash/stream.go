package dash

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// An event is a server-sent event, plain and deflated: it is created once for all streams that send it.
type event struct{ plain, deflated []byte }

func newEvent(plain []byte) *event { return &event{plain, deflated(plain)} }

// dataEvent returns an event with data: a string or a map of strings.
func dataEvent(name string, data any) *event {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	encoder := json.NewEncoder(&b) // it writes no line break except the last
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(data) // encoding strings cannot fail
	b.WriteString("\n")
	return newEvent(b.Bytes())
}

var (
	alive   = sync.OnceValue(func() *event { return newEvent([]byte(":\n\n")) })                      // a comment line
	nothing = sync.OnceValue(func() *event { return newEvent([]byte("event: parts\ndata: {}\n\n")) }) // nothing has changed, and the trouble is over
)

// A stream sends server-sent events.
type stream struct {
	to interface {
		io.Writer
		SetWriteDeadline(time.Time) error
		Flush() error
	}
	packed  bool // with gzip
	gzip    gzipStream
	sent    time.Time
	failing *event // the trouble that was sent last, or nil if it is over
}

// A response is the destination of a stream while its request is being served.
type response struct {
	io.Writer
	*http.ResponseController
}

// newStream returns the stream that answers a request.
func newStream(w http.ResponseWriter, r *http.Request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("X-Accel-Buffering", "no") // for proxies that buffer responses
	s := &stream{packed: acceptsGzip(r)}
	if s.packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	return s
}

// due returns when the next event is to be sent at the latest.
func (s *stream) due() time.Time {
	if s.sent.IsZero() {
		return time.Now().Add(beat) // the page is about to be rendered
	}
	return s.sent.Add(beat)
}

// send sends the changed parts of a page, or, once, why it could not be rendered. Without either it sends nothing, unless nothing was sent for a
// beat.
func (s *stream) send(changed, trouble *event) error {
	late := !s.sent.IsZero() && time.Since(s.sent) >= beat
	e := changed
	switch {
	case trouble != nil:
		if trouble == s.failing && !late {
			return nil
		}
		e = trouble
	case changed != nil:
	case s.failing != nil:
		e = nothing()
	case late:
		e = alive()
	default:
		return nil
	}
	s.failing = trouble
	return s.event(e)
}

func (s *stream) event(e *event) error {
	if !s.packed {
		return s.write(e.plain)
	}
	s.gzip.add(e.plain)
	if s.sent.IsZero() {
		return s.write(gzipHead, e.deflated)
	}
	return s.write(e.deflated)
}

// end ends the stream. The browser may have disconnected.
func (s *stream) end() {
	if s.packed && !s.sent.IsZero() {
		_ = s.write(s.gzip.end())
	}
}

func (s *stream) write(texts ...[]byte) error {
	_ = s.to.SetWriteDeadline(time.Now().Add(mostWrite)) // if the server supports it
	for _, b := range texts {
		if _, err := s.to.Write(b); err != nil {
			return err
		}
	}
	s.sent = time.Now()
	return s.to.Flush()
}
