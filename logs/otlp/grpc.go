package otlp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/body"
)

// GRPCPath is the HTTP path of the gRPC method that exports logs.
const GRPCPath = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

// A gRPC call is a POST over HTTP/2 whose body is one message: a byte that is 1 if the message is compressed, its length in four
// bytes, and the message. The response has the same form, and the status of the call in its trailers.

// Status codes of gRPC.
const (
	codeOK                = 0
	codeInvalidArgument   = 3
	codeResourceExhausted = 8
	codeUnimplemented     = 12
	codeUnavailable       = 14
)

// call handles a gRPC call.
func (h *handler) call(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 || r.Method != http.MethodPost {
		w.Header().Set("Upgrade", "h2c")
		http.Error(w, "gRPC needs a POST over HTTP/2", http.StatusUpgradeRequired)
		return
	}
	to := h.open(r)
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // if the connection supports deadlines
	request, release, err := h.readMessage(r)
	defer release()
	if err == nil {
		err = receive(ctx, to, request)
	}
	w.Header().Set("Content-Type", "application/grpc")
	if err != nil {
		p := explain(err, to)
		end := func(code int) {
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", url.PathEscape(p.Text))
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(code))
		}
		switch p.Status {
		case http.StatusServiceUnavailable:
			end(codeUnavailable)
		case http.StatusRequestEntityTooLarge:
			end(codeResourceExhausted)
		case http.StatusUnsupportedMediaType:
			w.Header().Set("Grpc-Accept-Encoding", "gzip")
			end(codeUnimplemented)
		default:
			end(codeInvalidArgument)
		}
		return
	}
	_, _ = w.Write(make([]byte, 5)) // the message of a success is empty; an error means that the client has disconnected
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(codeOK))
}

// readMessage returns the message of a call. Call release when it is no longer used, also after an error.
func (h *handler) readMessage(r *http.Request) (message []byte, release func(), err error) {
	none := func() {}
	var head [5]byte
	if _, err := io.ReadFull(r.Body, head[:]); err != nil {
		return nil, none, malformedCall("no message")
	}
	size, encoding := int64(binary.BigEndian.Uint32(head[1:])), ""
	switch head[0] {
	case 0:
	case 1:
		encoding = r.Header.Get("Grpc-Encoding")
	default:
		return nil, none, malformedCall("no message")
	}
	if size > MaxBody {
		return nil, none, h.bodies.TooLarge()
	}
	from := &io.LimitedReader{R: r.Body, N: size}
	message, release, err = h.bodies.Unpack(from, encoding)
	if err != nil {
		return nil, release, err
	}
	if from.N > 0 {
		return nil, release, malformedCall(fmt.Sprintf("the message ends %d bytes early", from.N))
	}
	if n, err := r.Body.Read(head[:]); n > 0 || !errors.Is(err, io.EOF) {
		return nil, release, malformedCall("more follows the message")
	}
	return message, release, nil
}

func malformedCall(text string) *body.Problem {
	return &body.Problem{Status: http.StatusBadRequest, Text: text}
}
