package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Bounds of the requests of one handler.
const (
	inFlight   = 128 << 20 // bytes of all bodies together
	bodyWithin = 30 * time.Second

	// answerWithin is how long records may wait for an output that takes none. Servers close connections on which no answer
	// comes within a minute.
	answerWithin = 50 * time.Second
)

// Handler takes requests to export logs, as protobuf or JSON, also gzipped: it answers those at any path, so mount it at
// /v1/logs. Each gives its records to a feed of its own, which open returns, and is acknowledged when [logs.Feed.Sync] has
// returned.
//
// A body of more than [MaxBody] is answered with 413, a malformed one with 400 (what stands before the damage is taken), and
// when there is no room, 503 asks to come back. Bodies of all requests together take at most 128 MiB; they must arrive
// within 30 s. Whoever mounts it says who may send.
func Handler(open func(*http.Request) logs.Feed) http.Handler {
	return &handler{open: open, room: meanwhile.NewSemaphore(inFlight)}
}

type handler struct {
	open func(*http.Request) logs.Feed
	room *meanwhile.Semaphore // in bytes
}

// A problem is an answer that is no success.
type problem struct {
	status int
	text   string
	after  int // seconds; zero: that is not said
}

func (p *problem) Error() string { return p.text }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	asJSON := contentType == "application/json"
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		fail(w, asJSON, &problem{status: http.StatusMethodNotAllowed, text: "POST, please"})
		return
	case !asJSON && contentType != "application/x-protobuf" && contentType != "application/protobuf":
		fail(w, asJSON, &problem{status: http.StatusUnsupportedMediaType, text: "send application/x-protobuf or application/json"})
		return
	}
	feed := h.open(r)
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	in := newIntake(ctx, feed)
	if err := h.take(ctx, w, r, in, asJSON); err != nil {
		answer, ok := errors.AsType[*problem](err)
		if !ok {
			answer = &problem{status: http.StatusServiceUnavailable, text: "not stored", after: 1}
			if errors.Is(err, logs.ErrFull) {
				answer = &problem{status: http.StatusServiceUnavailable, text: "no room for more records", after: 30}
			}
		}
		if answer.status != http.StatusServiceUnavailable {
			feed.Refuse("OTLP: " + http.StatusText(answer.status))
		}
		fail(w, asJSON, answer)
		return
	}
	succeed(w, asJSON)
}

// take reads a body and gives its records to the feed.
func (h *handler) take(ctx context.Context, w http.ResponseWriter, r *http.Request, in *intake, asJSON bool) error {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // where the connection has one
	body, release, err := h.read(r)
	defer release()
	if err != nil {
		return err
	}
	if asJSON {
		if body, err = fromJSON(body); err != nil {
			return &problem{status: http.StatusBadRequest, text: err.Error()}
		}
	}
	malformed := in.request(body)
	if err := in.feed.Sync(ctx); err != nil {
		return err
	}
	if failed, ok := errors.AsType[*flushError](malformed); ok {
		return failed.err
	}
	if malformed != nil {
		return &problem{status: http.StatusBadRequest, text: fmt.Sprintf("%v, after %d records", malformed, in.records)}
	}
	return nil
}

var unpackers sync.Pool // of *gzip.Reader

// read returns the body, unpacked, as far as there is room. Call release when it is no longer used.
func (h *handler) read(r *http.Request) (body []byte, release func(), err error) {
	held := 0
	release = func() { h.room.Release(held) }
	var from io.Reader = http.MaxBytesReader(nil, r.Body, MaxBody)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpack, _ := unpackers.Get().(*gzip.Reader)
		if unpack == nil {
			unpack = new(gzip.Reader)
		}
		defer unpackers.Put(unpack)
		if err := unpack.Reset(from); err != nil {
			return nil, release, unreadable(err)
		}
		from = unpack
	default:
		return nil, release, &problem{status: http.StatusUnsupportedMediaType, text: "send gzip or no Content-Encoding"}
	}
	for {
		if len(body) == cap(body) {
			grown := min(max(2*cap(body), 4<<10), MaxBody+1)
			// JSON takes the room twice: for the text and for what is made of it.
			need := 2 * (grown - cap(body))
			if !h.room.TryAcquire(need) {
				return nil, release, &problem{status: http.StatusServiceUnavailable, text: "too much at once", after: 1}
			}
			held += need
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxBody:
			return nil, release, &problem{status: http.StatusRequestEntityTooLarge, text: tooLarge}
		case errors.Is(err, io.EOF):
			return body, release, nil
		case err != nil:
			return nil, release, unreadable(err)
		}
	}
}

const tooLarge = "a body has at most 16 MiB"

// unreadable says what is wrong with a body that could not be read to its end.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{status: http.StatusRequestEntityTooLarge, text: tooLarge}
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return &problem{status: http.StatusBadRequest, text: err.Error()}
	}
	return &problem{status: http.StatusBadRequest, text: "the body could not be read to its end"}
}

// succeed writes an ExportLogsServiceResponse: all records were taken.
func succeed(w http.ResponseWriter, asJSON bool) {
	var body []byte
	if asJSON {
		body = []byte("{}")
	}
	write(w, asJSON, http.StatusOK, body)
}

// fail writes a google.rpc.Status.
func fail(w http.ResponseWriter, asJSON bool, p *problem) {
	if p.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.after))
	}
	const invalidArgument, unavailable = 3, 14
	code := uint64(invalidArgument)
	if p.status == http.StatusServiceUnavailable {
		code = unavailable
	}
	if asJSON {
		body := jsontext.AppendString(fmt.Appendf(nil, `{"code":%d,"message":`, code), p.text)
		write(w, asJSON, p.status, append(body, '}'))
		return
	}
	write(w, asJSON, p.status, appendText(appendVarint(nil, 1, code), 2, p.text))
}

func write(w http.ResponseWriter, asJSON bool, status int, body []byte) {
	contentType := "application/x-protobuf"
	if asJSON {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
