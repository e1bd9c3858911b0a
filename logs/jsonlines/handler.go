package jsonlines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// A Config configures a [Handler]. The zero value of each field is its default.
type Config struct {
	Body     int64  // the largest body of a request, in bytes, before and after decompression; default 64 MiB
	Requests int    // the number of concurrent requests; further ones get 429; default 32
	Service  string // of records that name none, if the request has no parameter service; default [Service]
}

// Handler returns a handler of POST requests with JSON lines, or with a JSON array of objects. The Content-Encoding may be gzip or
// zstd. The response is an object with the number of records, and is sent when they are on disk:
//
//	200  all records are on disk
//	400  the record at "line" is malformed, as "error" describes; the records before it are kept
//	413  the body is too large, or a line is longer than [MaxLine]; the records before that are kept
//	415  the Content-Encoding is neither gzip nor zstd; nothing is kept
//	429  there are too many concurrent requests; nothing is kept
//	500  an output fails; some of the records may be kept
//	503  there is no buffer space, or an output accepts no records for 50 s; some of the records may be kept
//
// 429 and 503 have a Retry-After. A line of text that does not begin like an object is a record with the line as message. Cross-origin
// requests of browsers are refused. The handler does not authenticate: the program that mounts it decides who may send.
//
// Each request gets a batcher from open.
func Handler(open func(*http.Request) input.Batcher, config Config) http.Handler {
	if config.Body <= 0 {
		config.Body = 64 << 20
	}
	if config.Requests <= 0 {
		config.Requests = 32
	}
	if config.Service == "" {
		config.Service = Service
	}
	return http.NewCrossOriginProtection().Handler(&handler{open: open, config: config, slots: make(chan struct{}, config.Requests)})
}

// answerWithin is how long records may wait for an output that fails, such as a full disk. The HTTP server closes connections on which no
// response is sent within a minute.
const answerWithin = 50 * time.Second

var errAnswer = fmt.Errorf("the records wait for an output that takes none; the server's log says why: %w", context.DeadlineExceeded)

type handler struct {
	open   func(*http.Request) input.Batcher
	config Config
	slots  chan struct{}
}

// An answer is the response to a request.
type answer struct {
	Records int    `json:"records"` // how many are kept
	Error   string `json:"error,omitempty"`
	Line    int    `json:"line,omitempty"`

	status int
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answer{status: http.StatusMethodNotAllowed, Error: "POST lines of JSON here"}.write(w)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		answer{status: http.StatusTooManyRequests, Error: "too many requests at once"}.write(w)
		return
	}
	service := h.config.Service
	if given := r.URL.Query().Get("service"); given != "" {
		service = given
	}
	body, done, err := decompress(http.MaxBytesReader(w, r.Body, h.config.Body), r.Header.Get("Content-Encoding"), h.config.Body)
	if err != nil {
		answer{status: http.StatusUnsupportedMediaType, Error: err.Error()}.write(w)
		return
	}
	defer done()
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	to := h.open(r)
	t := taker{to: to, service: []byte(service)}
	ctx, cancel := context.WithTimeoutCause(r.Context(), answerWithin, errAnswer)
	defer cancel()
	err = t.receive(ctx, newSplitter(body, kind == "application/json"))
	if synced := to.Sync(ctx); synced != nil {
		err = &syncError{synced}
	}
	a := explain(err)
	if a.Records = t.records; a.status == http.StatusServiceUnavailable {
		a.Records = 0 // the number of records on disk is unknown
	}
	if a.status == http.StatusBadRequest || a.status == http.StatusRequestEntityTooLarge {
		to.Refuse(refusals[a.status])
	}
	a.write(w)
}

var refusals = map[int]string{http.StatusBadRequest: "malformed", http.StatusRequestEntityTooLarge: "too long"}

// A syncError is an error of the batcher; other errors come from the body.
type syncError struct{ err error }

func (e *syncError) Error() string { return e.err.Error() }
func (e *syncError) Unwrap() error { return e.err }

// explain returns the response to a request that ended with err.
func explain(err error) answer {
	a := answer{status: http.StatusOK}
	if err == nil {
		return a
	}
	a.Error = err.Error()
	if malformed, ok := errors.AsType[*lineError](err); ok {
		a.Line = malformed.line
	}
	_, ours := errors.AsType[*syncError](err)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ours && (errors.Is(err, logs.ErrFull) || errors.Is(err, logs.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		a.status = http.StatusServiceUnavailable
	case ours:
		a.status, a.Error = http.StatusInternalServerError, "the records could not be kept"
	case large, errors.Is(err, errTooLong):
		a.status = http.StatusRequestEntityTooLarge
	default:
		a.status = http.StatusBadRequest
	}
	return a
}

func (a answer) write(w http.ResponseWriter) {
	switch a.status {
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(1))
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(10))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a) // an error means that the client has disconnected
}

// A taker adds the records of one request.
type taker struct {
	to      input.Batcher
	service []byte
	records int
	waiting body.Waiting // since the last flush

	decoder Decoder
	view    logs.View
}

// receive adds all records up to the first malformed one.
func (t *taker) receive(ctx context.Context, s *splitter) error {
	for {
		frame, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var full bool
		if err == nil {
			full, err = t.add(frame, s.values)
		}
		if err != nil {
			return &lineError{s.line, err}
		}
		if full {
			if err := t.to.Flush(ctx); err != nil {
				return &syncError{err}
			}
		}
	}
}

// add adds the record of a line or object, and reports whether it is time for a flush.
func (t *taker) add(frame []byte, object bool) (full bool, err error) {
	if err := t.decoder.Decode(frame, &t.view); err != nil {
		if object || bytes.HasPrefix(bytes.TrimSpace(frame), []byte{'{'}) {
			return false, err
		}
		t.view.Message = frame
	}
	if len(t.view.Service) == 0 {
		t.view.Service = t.service
	}
	full = t.waiting.Add(sizeOf(&t.view))
	t.to.Add(&t.view)
	t.records++
	return full, nil
}

// sizeOf returns the bytes of the texts and attributes of a record.
func sizeOf(v *logs.View) int {
	return len(v.Message) + len(v.Task) + len(v.Job) + len(v.EncodedAttrs())
}

// A lineError is the error of a line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }
