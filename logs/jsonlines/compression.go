package jsonlines

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/zstd"
)

const (
	maxWindow = 8 << 20 // of zstd, in bytes: what its decoder keeps
	maxRatio  = 256     // of what comes out to what goes in, beyond the first megabyte
)

var errBomb = errors.New("it decompresses to far more than logs do")

// decompress returns a reader of a body of at most limit bytes. Who has read it, calls done.
func decompress(body io.Reader, encoding string, limit int64) (r io.Reader, done func(), err error) {
	in := &counter{reader: body}
	switch encoding {
	case "", "identity":
		return body, func() {}, nil
	case "gzip", "x-gzip":
		z := &gzipReader{in: in}
		return &bounded{reader: z, in: in, limit: limit}, func() {}, nil
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return &bounded{reader: z, in: in, limit: limit}, z.Close, nil
	}
	return nil, nil, fmt.Errorf("the Content-Encoding is gzip or zstd, not %.40q", encoding)
}

// A gzipReader reads the head with the first bytes, and not before.
type gzipReader struct {
	in   io.Reader
	open *gzip.Reader
}

func (z *gzipReader) Read(b []byte) (n int, err error) {
	if z.open == nil {
		if z.open, err = gzip.NewReader(z.in); err != nil {
			z.open = nil
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	return z.open.Read(b)
}

// A counter counts what is read.
type counter struct {
	reader io.Reader
	bytes  int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.reader.Read(b)
	c.bytes += int64(n)
	return n, err
}

// A bounded reader ends with an error where more comes out than the limit, or than the ratio allows for what went in.
type bounded struct {
	reader io.Reader
	in     *counter
	out    int64
	limit  int64
}

func (r *bounded) Read(b []byte) (int, error) {
	n, err := r.reader.Read(b)
	switch r.out += int64(n); {
	case r.out > r.limit:
		return 0, &http.MaxBytesError{Limit: r.limit}
	case r.out > 1<<20 && r.out > maxRatio*r.in.bytes:
		return 0, errBomb
	}
	return n, err
}
