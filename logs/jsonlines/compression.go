package jsonlines

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/zstd"
)

const maxWindow = 8 << 20 // bytes of memory for the window of a zstd decoder

// decompress returns a reader of a decompressed body of at most limit bytes. The compression ratio is not limited: a thousand equal lines
// compress to almost nothing. Call done when the body was read.
func decompress(body io.Reader, encoding string, limit int64) (r io.Reader, done func(), err error) {
	switch encoding {
	case "", "identity":
		return body, func() {}, nil
	case "gzip", "x-gzip":
		return &bounded{reader: &gzipReader{in: body}, limit: limit}, func() {}, nil
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return &bounded{reader: z, limit: limit}, z.Close, nil
	}
	return nil, nil, fmt.Errorf("the Content-Encoding is gzip or zstd, not %.40q", encoding)
}

// A gzipReader decompresses gzip. It reads the gzip header at the first Read, so that opening it does not wait for the body.
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

// A bounded reader returns an error when there is more to read than the limit.
type bounded struct {
	reader io.Reader
	out    int64 // bytes that were read
	limit  int64
}

func (r *bounded) Read(b []byte) (int, error) {
	n, err := r.reader.Read(b)
	if r.out += int64(n); r.out > r.limit {
		return 0, &http.MaxBytesError{Limit: r.limit}
	}
	return n, err
}
