package dash

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// An event is a server-sent event, as it is and deflated: it is made once for all streams that send it.
type event struct{ plain, deflated []byte }

func newEvent(plain []byte) *event { return &event{plain, deflated(plain)} }

// dataEvent makes an event of data: a string or a map of strings.
func dataEvent(name string, data any) *event {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	encoder := json.NewEncoder(&b) // which writes no line break but the last
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(data) // which has no error for strings
	b.WriteString("\n")
	return newEvent(b.Bytes())
}

var (
	alive   = sync.OnceValue(func() *event { return newEvent([]byte(":\n\n")) })                      // a comment
	nothing = sync.OnceValue(func() *event { return newEvent([]byte("event: parts\ndata: {}\n\n")) }) // is different, and the page can be read
)

// A stream sends server-sent events.
type stream struct {
	to interface {
		io.Writer
		SetWriteDeadline(time.Time) error
		Flush() error
	}
	packed  bool // by gzip
	gzip    gzipStream
	sent    time.Time
	failing *event // the trouble that was sent last, unless that is over
}

// A response is where a stream sends to while its request is being served.
type response struct {
	io.Writer
	*http.ResponseController
}

// newStream makes the stream that answers a request.
func newStream(w http.ResponseWriter, r *http.Request) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that collect what they pass on
	s := &stream{packed: acceptsGzip(r)}
	if s.packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	return s
}

// due returns when something is to be sent.
func (s *stream) due() time.Time {
	if s.sent.IsZero() {
		return time.Now().Add(beat) // the page is about to be drawn
	}
	return s.sent.Add(beat)
}

// send sends the parts of a page that have changed, or why it could not be drawn, once. Without either it is silent, unless that was long.
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

// end ends the stream, of which the browser may have left.
func (s *stream) end() {
	if s.packed && !s.sent.IsZero() {
		_ = s.write(s.gzip.end())
	}
}

func (s *stream) write(texts ...[]byte) error {
	_ = s.to.SetWriteDeadline(time.Now().Add(mostWrite)) // where the server can
	for _, b := range texts {
		if _, err := s.to.Write(b); err != nil {
			return err
		}
	}
	s.sent = time.Now()
	return s.to.Flush()
}
