package logwire

import (
	"errors"
	"io"
	"sync"
)

var ErrVersion = errors.New("the connection does not begin as the protocol does")

func IsFrameError(err error) bool {
	return errors.Is(err, ErrBody) || errors.Is(err, ErrSize) || errors.Is(err, ErrChecksum)
}

// A Frame is a frame that was read. Its body is in a buffer, which is given back after use.
type Frame struct {
	Kind byte
	Body []byte
	Room []byte
}

// A Reader reads frames. After an error, what it has read of a frame is kept.
type Reader struct {
	r   io.Reader
	buf []byte // buf[:n] was read, but not used yet
	n   int

	head [HeadSize]byte
	body []byte // of the current frame, with space for all of it; nil if its head is incomplete
	got  int    // how much of it was read
}

func NewReader(r io.Reader) *Reader { return &Reader{r: r, buf: make([]byte, 4<<10)} }

// ReadMagic reads the beginning of a connection.
func (f *Reader) ReadMagic() error {
	for f.n < len(Magic) {
		if string(f.buf[:f.n]) != Magic[:f.n] {
			return ErrVersion
		}
		if err := f.fill(); err != nil {
			return err
		}
	}
	if string(f.buf[:len(Magic)]) != Magic {
		return ErrVersion
	}
	f.consume(len(Magic))
	return nil
}

func (f *Reader) fill() error {
	n, err := f.r.Read(f.buf[f.n:])
	f.n += n
	if n > 0 {
		return nil
	}
	return err
}

func (f *Reader) consume(n int) {
	copy(f.buf, f.buf[n:f.n])
	f.n -= n
}

// Next reads a frame. It calls begun when it has to wait for the rest of one. It returns io.EOF only between frames.
func (f *Reader) Next(begun func() error) (Frame, error) {
	if f.body == nil {
		for called := false; f.n < HeadSize; {
			if f.n > 0 && !called && begun != nil {
				called = true
				if err := begun(); err != nil {
					return Frame{}, err
				}
			}
			if err := f.fill(); err != nil {
				if f.n > 0 && errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return Frame{}, err
			}
		}
		size, err := BodySize(f.buf)
		if err != nil {
			return Frame{}, err
		}
		copy(f.head[:], f.buf)
		f.consume(HeadSize)
		f.allocBody(size)
	}
	return f.finish(begun)
}

// allocBody allocates a body, at first no larger than a connection may cost before it has sent anything.
func (f *Reader) allocBody(size int) {
	f.body = TakeBuffer(min(size, trusted))
	f.got = copy(f.body[:min(size, trusted)], f.buf[:f.n])
	f.consume(f.got)
}

const trusted = 64 << 10

func (f *Reader) finish(begun func() error) (Frame, error) {
	size, _ := BodySize(f.head[:])
	if f.got < size && begun != nil {
		if err := begun(); err != nil {
			return Frame{}, err
		}
	}
	for f.got < size {
		if f.got == len(f.body) { // twice as large, now that this much has arrived
			larger := TakeBuffer(min(size, 2*f.got))
			copy(larger, f.body)
			GiveBuffer(f.body)
			f.body = larger
		}
		n, err := f.r.Read(f.body[f.got:min(size, len(f.body))])
		f.got += n
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
	}
	body := f.body[:size]
	done := Frame{Kind: f.head[0], Body: body, Room: f.body}
	f.body, f.got = nil, 0
	return done, Check(f.head[:], body)
}

// Rest returns what was read and not used.
func (f *Reader) Rest() []byte {
	if f.body == nil {
		return f.buf[:f.n]
	}
	return append(append(append([]byte(nil), f.head[:]...), f.body[:f.got]...), f.buf[:f.n]...)
}

// Restore makes a new reader continue where another one stopped, which returned this rest. The rest of a frame may be larger than the small buffer,
// which then grows once.
func (f *Reader) Restore(rest []byte) error {
	if len(rest) > maxData+len(f.buf) {
		return ErrSize
	}
	if len(rest) > len(f.buf) {
		f.buf = make([]byte, len(rest))
	}
	f.n = copy(f.buf, rest)
	return nil
}

// buffers are pooled by size, so that a small frame does not hold a large buffer.
var buffers [len(bufferSizes)]sync.Pool

var bufferSizes = [...]int{1 << 10, 16 << 10, 64 << 10, 512 << 10, maxData}

// TakeBuffer returns a buffer of at least size bytes, at most maxData.
func TakeBuffer(size int) []byte {
	for i, s := range bufferSizes {
		if size <= s {
			if b, ok := buffers[i].Get().(*[]byte); ok {
				return *b
			}
			return make([]byte, s)
		}
	}
	return make([]byte, size)
}

// GiveBuffer returns a buffer that is no longer used to the pool.
func GiveBuffer(b []byte) {
	for i, s := range bufferSizes {
		if cap(b) == s {
			b = b[:s]
			buffers[i].Put(&b)
			return
		}
	}
}
