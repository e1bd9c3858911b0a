// Package body reads the bodies of requests that deliver log records, with a bound on the memory that they use.
package body

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A Problem is an error response.
type Problem struct {
	Status int
	Text   string
	After  int // seconds after which the client may try again; zero is unknown
}

// Error returns the text.
func (p *Problem) Error() string { return p.Text }

// A Budget bounds the bytes that all bodies use together.
type Budget interface {
	TryAcquire(n int) bool
	Release(n int)
}

// A Reader reads bodies of at most Most bytes after decompression. It reserves twice the size of a body in Budget, since the records decoded from the
// body use memory, too. Its methods may be called concurrently.
type Reader struct {
	Most   int
	Budget Budget
}

var unpackers sync.Pool // of *gzip.Reader

// Read returns the body of a request, which may be gzipped. Call release when it is no longer used, also after an error, which is a
// [*Problem].
func (r *Reader) Read(request *http.Request) (body []byte, release func(), err error) {
	return r.Unpack(http.MaxBytesReader(nil, request.Body, int64(r.Most)), request.Header.Get("Content-Encoding"))
}

// Unpack does the same as Read for the bytes and the Content-Encoding of a body.
func (r *Reader) Unpack(from io.Reader, encoding string) (body []byte, release func(), err error) {
	held := 0
	release = func() { r.Budget.Release(held) }
	switch encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		unpack, _ := unpackers.Get().(*gzip.Reader)
		if unpack == nil {
			unpack = new(gzip.Reader)
		}
		defer unpackers.Put(unpack)
		if err := unpack.Reset(from); err != nil {
			return nil, release, r.unreadable(err)
		}
		from = unpack
	default:
		return nil, release, &Problem{Status: http.StatusUnsupportedMediaType, Text: "send gzip or no Content-Encoding"}
	}
	for {
		if len(body) == cap(body) {
			grown := min(max(2*cap(body), 4<<10), r.Most+1)
			need := 2 * (grown - cap(body))
			if !r.Budget.TryAcquire(need) {
				return nil, release, Busy()
			}
			held += need
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > r.Most:
			return nil, release, r.TooLarge()
		case errors.Is(err, io.EOF):
			return body, release, nil
		case err != nil:
			return nil, release, r.unreadable(err)
		}
	}
}

// Busy is the problem of a body for which there is no memory left at present.
func Busy() *Problem {
	return &Problem{Status: http.StatusServiceUnavailable, Text: "too much at once", After: 1}
}

// TooLarge is the problem of a body with too many bytes.
func (r *Reader) TooLarge() *Problem {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("a body has at most %d MiB", r.Most>>20)}
}

// unreadable returns the problem of a body that could not be read to its end.
func (r *Reader) unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return r.TooLarge()
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return &Problem{Status: http.StatusBadRequest, Text: err.Error()}
	}
	return &Problem{Status: http.StatusBadRequest, Text: "the body could not be read to its end"}
}
