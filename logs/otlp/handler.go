package otlp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// Bounds of the requests of one handler.
const (
	inFlight   = 128 << 20 // bytes of all bodies together
	bodyWithin = 30 * time.Second

	// answerWithin is how long records may wait for an output that fails. The HTTP server closes connections on which no response is
	// sent within a minute.
	answerWithin = 50 * time.Second
)

// Handler returns a handler of requests to export logs: over HTTP as protobuf or JSON, also gzipped, and over gRPC, if the server
// speaks HTTP/2. It handles gRPC calls at any path, so mount it at /v1/logs and at [GRPCPath]. The records of a request are added to a
// batcher of its own, which open returns; the response is sent when [input.Batcher.Sync] has returned:
//
//	200  all records are on disk
//	400  the body is malformed; with protobuf, the records before the error are kept
//	413  the body has more than [MaxBody]; nothing is kept
//	415  the Content-Type or the Content-Encoding is not supported; nothing is kept
//	503  there is no buffer space, or an output fails; Retry-After says when to retry
//
// gRPC calls end with the codes INVALID_ARGUMENT for 400, RESOURCE_EXHAUSTED for 413, UNIMPLEMENTED for 415 and UNAVAILABLE for 503 instead.
//
// The bodies of all requests together use at most 128 MiB of memory; a body must arrive within 30 s. The handler does not authenticate: the
// program that mounts it decides who may send.
func Handler(open func(*http.Request) input.Batcher) http.Handler {
	return &handler{open: open, bodies: body.Reader{Most: MaxBody, Budget: meanwhile.NewSemaphore(inFlight)}}
}

type handler struct {
	open   func(*http.Request) input.Batcher
	bodies body.Reader
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if contentType == "application/grpc" || contentType == "application/grpc+proto" {
		h.call(w, r)
		return
	}
	asJSON := contentType == "application/json"
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		fail(w, asJSON, &body.Problem{Status: http.StatusMethodNotAllowed, Text: "POST, please"})
		return
	case !asJSON && contentType != "application/x-protobuf" && contentType != "application/protobuf":
		fail(w, asJSON, &body.Problem{Status: http.StatusUnsupportedMediaType, Text: "send application/x-protobuf or application/json"})
		return
	}
	to := h.open(r)
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // if the connection supports deadlines
	request, release, err := h.bodies.Read(r)
	defer release()
	switch {
	case err != nil:
	case asJSON:
		err = h.receiveJSON(ctx, to, request)
	default:
		err = receive(ctx, to, request)
	}
	if err != nil {
		fail(w, asJSON, explain(err, to))
		return
	}
	succeed(w, asJSON)
}

// explain returns the response to a request that ended with err, and counts a refused body.
func explain(err error, to input.Batcher) *body.Problem {
	answer, ok := errors.AsType[*body.Problem](err)
	if !ok {
		answer = &body.Problem{Status: http.StatusServiceUnavailable, Text: "not stored", After: 1}
		if errors.Is(err, logs.ErrFull) {
			answer = &body.Problem{Status: http.StatusServiceUnavailable, Text: "no room for more records", After: 30}
		}
	}
	if answer.Status != http.StatusServiceUnavailable {
		to.Refuse("OTLP: " + http.StatusText(answer.Status))
	}
	return answer
}

// receiveJSON does what receive does for a request in JSON, if there is memory for its translation, which may be longer than its text and is moved
// while it grows, and for the text of one value.
func (h *handler) receiveJSON(ctx context.Context, to input.Batcher, text []byte) error {
	size := 4 * len(text)
	if !h.bodies.Budget.TryAcquire(size) {
		return body.Busy()
	}
	defer h.bodies.Budget.Release(size)
	request, err := fromJSON(text)
	if err != nil {
		return &body.Problem{Status: http.StatusBadRequest, Text: err.Error()}
	}
	return receive(ctx, to, request)
}

// receive adds the records of a request to the batcher, and returns when they are on disk.
func receive(ctx context.Context, to input.Batcher, request []byte) error {
	in := newIntake(ctx, to)
	malformed := in.request(request)
	if err := in.to.Sync(ctx); err != nil {
		return err
	}
	if failed, ok := errors.AsType[*flushError](malformed); ok {
		return failed.err
	}
	if malformed != nil {
		return &body.Problem{Status: http.StatusBadRequest, Text: fmt.Sprintf("%v, after %d records", malformed, in.records)}
	}
	return nil
}

// succeed writes an ExportLogsServiceResponse that acknowledges all records.
func succeed(w http.ResponseWriter, asJSON bool) {
	var answer []byte
	if asJSON {
		answer = []byte("{}")
	}
	write(w, asJSON, http.StatusOK, answer)
}

// fail writes a google.rpc.Status.
func fail(w http.ResponseWriter, asJSON bool, p *body.Problem) {
	if p.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.After))
	}
	const invalidArgument, unavailable = 3, 14
	code := uint64(invalidArgument)
	if p.Status == http.StatusServiceUnavailable {
		code = unavailable
	}
	if asJSON {
		status := jsontext.AppendString(fmt.Appendf(nil, `{"code":%d,"message":`, code), p.Text)
		write(w, asJSON, p.Status, append(status, '}'))
		return
	}
	write(w, asJSON, p.Status, appendText(appendVarint(nil, 1, code), 2, p.Text))
}

func write(w http.ResponseWriter, asJSON bool, status int, answer []byte) {
	contentType := "application/x-protobuf"
	if asJSON {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer) // an error means that the client has disconnected
}
