package logs

import (
	"errors"
	"io"
	"sync"
)

var errVersion = errors.New("the connection does not begin as the protocol does")

func isFrameError(err error) bool {
	return errors.Is(err, errFrameBody) || errors.Is(err, errFrameSize) || errors.Is(err, errChecksum)
}

// A frame is one that was read. Its body lies in room, which whoever is done with it gives back.
type frame struct {
	kind byte
	body []byte
	room []byte
}

// A frameReader reads frames. What a read that failed has got of one stays with it.
type frameReader struct {
	r   io.Reader
	buf []byte // read, not yet taken: buf[:n]
	n   int

	head [wireHead]byte
	body []byte // of the frame that is being read, with room for it; nil when its head is not whole
	got  int    // of it
}

func newFrameReader(r io.Reader) *frameReader { return &frameReader{r: r, buf: make([]byte, 4<<10)} }

// magic takes the beginning of a connection.
func (f *frameReader) magic() error {
	for f.n < len(wireMagic) {
		if string(f.buf[:f.n]) != wireMagic[:f.n] {
			return errVersion
		}
		if err := f.fill(); err != nil {
			return err
		}
	}
	if string(f.buf[:len(wireMagic)]) != wireMagic {
		return errVersion
	}
	f.take(len(wireMagic))
	return nil
}

func (f *frameReader) fill() error {
	n, err := f.r.Read(f.buf[f.n:])
	f.n += n
	if n > 0 {
		return nil
	}
	return err
}

func (f *frameReader) take(n int) {
	copy(f.buf, f.buf[n:f.n])
	f.n -= n
}

// next reads a frame. It calls begun when it has to wait for the rest of one. io.EOF comes between frames only.
func (f *frameReader) next(begun func() error) (frame, error) {
	if f.body == nil {
		for told := false; f.n < wireHead; {
			if f.n > 0 && !told && begun != nil {
				told = true
				if err := begun(); err != nil {
					return frame{}, err
				}
			}
			if err := f.fill(); err != nil {
				if f.n > 0 && errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return frame{}, err
			}
		}
		size, err := frameSize(f.buf)
		if err != nil {
			return frame{}, err
		}
		copy(f.head[:], f.buf)
		f.take(wireHead)
		f.begin(size)
	}
	return f.finish(begun)
}

// begin makes room for the body, no more than what a connection may cost before it has sent anything.
func (f *frameReader) begin(size int) {
	f.body = takeBuffer(min(size, trusted))
	f.got = copy(f.body[:min(size, trusted)], f.buf[:f.n])
	f.take(f.got)
}

const trusted = 64 << 10

func (f *frameReader) finish(begun func() error) (frame, error) {
	size, _ := frameSize(f.head[:])
	if f.got < size && begun != nil {
		if err := begun(); err != nil {
			return frame{}, err
		}
	}
	for f.got < size {
		if f.got == len(f.body) { // twice as much, now that so much has come
			larger := takeBuffer(min(size, 2*f.got))
			copy(larger, f.body)
			giveBuffer(f.body)
			f.body = larger
		}
		n, err := f.r.Read(f.body[f.got:min(size, len(f.body))])
		f.got += n
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return frame{}, err
		}
	}
	body := f.body[:size]
	done := frame{kind: f.head[0], body: body, room: f.body}
	f.body, f.got = nil, 0
	return done, checkFrame(f.head[:], body)
}

// rest returns what was read and not taken.
func (f *frameReader) rest() []byte {
	if f.body == nil {
		return f.buf[:f.n]
	}
	return append(append(append([]byte(nil), f.head[:]...), f.body[:f.got]...), f.buf[:f.n]...)
}

// restore has a reader that has read nothing go on where another one was, whose rest this is. What was read of a frame may be more
// than the small buffer has room for: the buffer grows once, by what there is.
func (f *frameReader) restore(rest []byte) error {
	if len(rest) > maxData+len(f.buf) {
		return errFrameSize
	}
	if len(rest) > len(f.buf) {
		f.buf = make([]byte, len(rest))
	}
	f.n = copy(f.buf, rest)
	return nil
}

// buffers are kept by size, so that a small frame does not hold the room of a large one.
var buffers [len(bufferSizes)]sync.Pool

var bufferSizes = [...]int{1 << 10, 16 << 10, 64 << 10, 512 << 10, maxData}

// takeBuffer returns a buffer of at least size bytes, at most maxData.
func takeBuffer(size int) []byte {
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

// giveBuffer gives one back that nobody uses any more.
func giveBuffer(b []byte) {
	for i, s := range bufferSizes {
		if cap(b) == s {
			b = b[:s]
			buffers[i].Put(&b)
			return
		}
	}
}
