package meanwhile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

const (
	maxLine = 1 << 20  // the longest line that Lines yields, in bytes
	chunk   = 64 << 10 // bytes per Read of r
)

// Lines returns a stream of the lines of r without their line endings, "\n" or "\r\n". A line longer than 1 MiB is left out;
// an error with its number is yielded instead. An error of r ends the stream; the line that it cuts off is not yielded. A
// panic in r is such an error, a [*PanicError].
//
// If ctx is canceled, or a [Map] over the stream is left, while r blocks in Read, the stream still ends immediately: by a
// read deadline if r has SetReadDeadline, as connections and pipes do, and otherwise by abandoning the Read, whose goroutine
// ends when Read returns. r is read only while the stream is asked for a line.
//
//go:noinline
func Lines(ctx context.Context, r io.Reader) Stream[string] {
	return func(yield func(string, error) bool) {
		in := &interruptible{ctx: ctx, r: r, left: leftBy(yield)}
		defer in.close()
		lines := bufio.NewReaderSize(in, chunk)
		for number := 1; ; number++ {
			line, err := readLine(lines, number)
			var long *longLine
			switch {
			case err == nil, errors.As(err, &long):
				if !yield(line, err) {
					return
				}
			case err == errLastLine:
				yield(line, nil)
				return
			case err == io.EOF, err == errLeft:
				return
			default:
				yield("", err)
				return
			}
		}
	}
}

type longLine struct{ number int }

func (e *longLine) Error() string {
	return fmt.Sprintf("line %d is longer than %d bytes: left out", e.number, maxLine)
}

// errLastLine is returned with a last line that has no line ending.
var errLastLine = errors.New("last line")

// readLine returns one line. If an error of r cuts the line off, it returns only the error.
func readLine(r *bufio.Reader, number int) (string, error) {
	var line []byte
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine+2; !long {
			line = append(line, part...)
		}
		switch err {
		case bufio.ErrBufferFull:
			continue
		case nil, io.EOF:
		default:
			return "", err
		}
		if err == io.EOF && len(line) > 0 {
			err = errLastLine
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if long || len(line) > maxLine {
			return "", &longLine{number}
		}
		return string(line), err
	}
}

var errLeft = errors.New("the loop over the stream was left")

// interruptible is a reader whose Read returns when ctx is canceled or left is closed.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	left <-chan struct{}

	buf   []byte
	asks  chan int // the numbers of bytes to read
	reads chan read
}

type read struct {
	n   int
	err error
}

func (in *interruptible) Read(p []byte) (int, error) {
	if err := scope.CtxError(in.ctx); err != nil {
		return 0, err
	}
	if in.asks == nil {
		in.buf = make([]byte, chunk)
		in.asks, in.reads = make(chan int), make(chan read, 1)
		go in.serve()
	}
	in.asks <- min(len(p), chunk)
	select {
	case r := <-in.reads:
		return copy(p, in.buf[:r.n]), r.err
	case <-in.left:
		return 0, in.interrupt(errLeft)
	case <-in.ctx.Done():
		return 0, in.interrupt(scope.CtxError(in.ctx))
	}
}

func (in *interruptible) serve() {
	for size := range in.asks {
		in.readOnce(size)
	}
}

func (in *interruptible) readOnce(size int) {
	r := read{err: scope.ErrUnreturned}
	defer func() {
		if r.err == scope.ErrUnreturned {
			r.err = scope.Recovered(recover())
		}
		in.reads <- r
	}()
	n, err := in.r.Read(in.buf[:size])
	if n < 0 || n > size {
		n, err = 0, fmt.Errorf("the %T of Lines reports %d bytes read into a buffer of %d", in.r, n, size)
	}
	r.n, r.err = n, err
}

// interrupt ends the running Read by a deadline, or abandons it.
func (in *interruptible) interrupt(err error) error {
	d, ok := in.r.(interface{ SetReadDeadline(time.Time) error })
	if ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-in.reads
		_ = d.SetReadDeadline(time.Time{})
	}
	return err
}

func (in *interruptible) close() {
	if in.asks != nil {
		close(in.asks)
	}
}
