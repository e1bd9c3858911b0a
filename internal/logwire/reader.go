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

// A Frame is a frame that was read. Its body is in Room, a buffer for [GiveBuffer] after use.
type Frame struct {
	Kind byte
	Body []byte
	Room []byte
}

// A Reader reads frames. After an error, the part of a frame that was read is kept.
type Reader struct {
	r   io.Reader
	buf []byte // buf[:n] was read, but not consumed yet
	n   int

	head [HeadSize]byte
	body []byte // of the current frame, with space for all of it; nil if its head is incomplete
	got  int    // number of its bytes that were read
}

func NewReader(r io.Reader) *Reader { return &Reader{r: r, buf: make([]byte, 4<<10)} }

// ReadMagic reads Magic, the first bytes of a connection.
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

// ReadHello reads the frame after Magic. Since its client may have no key, it returns an error for any other frame before it allocates memory
// for its body. It returns io.EOF only before the frame.
func (f *Reader) ReadHello() (h Hello, err error) {
	if err := f.readHead(nil); err != nil {
		return h, err
	}
	if f.buf[0] != KindHello {
		return h, ErrBody
	}
	frame, err := f.Next(nil)
	if err != nil {
		return h, err
	}
	defer GiveBuffer(frame.Room)
	return h, h.Parse(frame.Body)
}

// readHead reads until the head of a frame is in f.buf.
func (f *Reader) readHead(begun func() error) error {
	for called := false; f.n < HeadSize; {
		if f.n > 0 && !called && begun != nil {
			called = true
			if err := begun(); err != nil {
				return err
			}
		}
		if err := f.fill(); err != nil {
			if f.n > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// Next reads a frame. It calls begun, which may be nil, when it has to wait for the rest of a frame. It returns io.EOF only between frames.
func (f *Reader) Next(begun func() error) (Frame, error) {
	if f.body == nil {
		if err := f.readHead(begun); err != nil {
			return Frame{}, err
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

// allocBody allocates a body, at first of at most the 64 KiB that a connection may use before it has sent anything.
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
		if f.got == len(f.body) { // the buffer is full: double it
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

// Rest returns the bytes that were read and not consumed.
func (f *Reader) Rest() []byte {
	if f.body == nil {
		return f.buf[:f.n]
	}
	return append(append(append([]byte(nil), f.head[:]...), f.body[:f.got]...), f.buf[:f.n]...)
}

// Restore makes a new reader continue where another one stopped that returned this rest. The rest of a frame may be larger than the small buffer,
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

// buffers has a pool for each size, so that a small frame does not occupy a large buffer.
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
