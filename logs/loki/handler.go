package loki

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// MaxBody is the largest push request, in bytes after decompression.
const MaxBody = 16 << 20

// Bounds of the requests of one handler.
const (
	inFlight     = 128 << 20 // bytes of all bodies together
	bodyWithin   = 30 * time.Second
	answerWithin = 50 * time.Second // the maximum wait of records for an output that fails: the HTTP server closes connections after a minute
)

// Handler returns a handler of push requests of clients of Loki, as protobuf compressed with snappy or as JSON, which may be gzipped.
// Mount it at /loki/api/v1/push. The records of a request are added to a batcher of its own, which open returns; the response is sent
// when [input.Batcher.Sync] has returned:
//
//	204  all records are on disk
//	400  the request is malformed, and the text describes where; the entries before that are kept
//	413  the request has more than [MaxBody]; nothing is kept
//	415  the Content-Encoding is not supported; nothing is kept
//	503  there is no buffer space, or an output fails; Retry-After says when to retry
//
// The line is the message. The service is the label service_name, service, app, application, app_kubernetes_io_name, container,
// container_name, component or job, the first of these that a stream has, or [Service]. If a stream has neither of the first two, the
// metadata service_name of an entry takes precedence. The level is the label or the metadata level, detected_level or severity. All other
// labels and structured metadata are attributes, and so is a label such as app that names the service.
//
// The bodies of all requests together use at most 128 MiB of memory; a body must arrive within 30 s. Cross-origin requests of browsers are
// refused. The handler does not authenticate: the program that mounts it decides who may send.
func Handler(open func(*http.Request) input.Batcher) http.Handler {
	budget := meanwhile.NewSemaphore(inFlight)
	return http.NewCrossOriginProtection().Handler(&handler{open: open, budget: budget, bodies: body.Reader{Most: MaxBody, Budget: budget}})
}

type handler struct {
	open   func(*http.Request) input.Batcher
	budget *meanwhile.Semaphore // in bytes
	bodies body.Reader
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		fail(w, &body.Problem{Status: http.StatusMethodNotAllowed, Text: "POST push requests here"})
		return
	}
	to := h.open(r)
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	if err := h.receive(ctx, w, r, to); err != nil {
		answer := explain(err)
		if answer.Status != http.StatusServiceUnavailable {
			to.Refuse("Loki: " + http.StatusText(answer.Status))
		}
		fail(w, answer)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// receive reads a body and adds its records to the batcher.
func (h *handler) receive(ctx context.Context, w http.ResponseWriter, r *http.Request, to input.Batcher) error {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // if the connection supports deadlines
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	asJSON := contentType == "application/json"
	if !asJSON && r.Header.Get("Content-Encoding") == "snappy" { // protobuf is compressed with snappy, with or without the header
		r.Header.Del("Content-Encoding")
	}
	request, release, err := h.bodies.Read(r)
	defer release()
	if err != nil {
		return err
	}
	in := &intake{ctx: ctx, to: to}
	if asJSON {
		err = h.json(in, request)
	} else {
		err = h.protobuf(in, request)
	}
	if synced := to.Sync(ctx); synced != nil {
		return synced
	}
	if malformed, ok := errors.AsType[*malformedError](err); ok {
		return &body.Problem{Status: http.StatusBadRequest, Text: fmt.Sprintf("%v, after %d entries", malformed, in.records)}
	}
	return err
}

// json adds the records of a push request in JSON, if there is buffer space for the parts of it that are copied.
func (h *handler) json(in *intake, request []byte) error {
	size := 2 * len(request)
	if !h.budget.TryAcquire(size) {
		return body.Busy()
	}
	defer h.budget.Release(size)
	return in.json(request)
}

// protobuf adds the records of a push request in protobuf, compressed with snappy.
func (h *handler) protobuf(in *intake, compressed []byte) error {
	size, err := snappy.DecodedLen(compressed)
	switch {
	case err != nil:
		return malformed("no snappy")
	case size > MaxBody:
		return h.bodies.TooLarge()
	case !h.budget.TryAcquire(size):
		return body.Busy()
	}
	defer h.budget.Release(size)
	request, err := snappy.Decode(nil, compressed)
	if err != nil {
		return malformed("no snappy")
	}
	return in.protobuf(request)
}

// explain returns the response to a request that ended with err.
func explain(err error) *body.Problem {
	if p, ok := errors.AsType[*body.Problem](err); ok {
		return p
	}
	if errors.Is(err, logs.ErrFull) {
		return &body.Problem{Status: http.StatusServiceUnavailable, Text: "no room for more records", After: 30}
	}
	return &body.Problem{Status: http.StatusServiceUnavailable, Text: "not stored", After: 1}
}

func fail(w http.ResponseWriter, p *body.Problem) {
	if p.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.After))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = io.WriteString(w, p.Text+"\n") // an error means that the client has disconnected
}
