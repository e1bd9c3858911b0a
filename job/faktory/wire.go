package faktory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usualLine is the size of the buffer of a connection; longer lines are collected in another one.
const usualLine = 1024

// shortLine is the longest line that is read without waiting for a place among the long ones.
const shortLine = 64 << 10

var (
	errLongLine  = &refusal{"ERR", "a command has more than 16 MiB: send fewer jobs at once"}
	errLongLines = &refusal{"ERR", "too many long commands are sent at once: send it again, or fewer jobs at once"}
)

// A lineReader reads lines that end in LF or CRLF.
type lineReader struct {
	socket net.Conn
	buffer *bufio.Reader
	large  chan struct{}
}

// idle waits for the first byte of a line, without a timeout.
func (r *lineReader) idle() error {
	if r.buffer.Buffered() > 0 {
		return nil
	}
	_, err := r.buffer.Peek(1)
	return err
}

// whole reports whether a line has already been received to its end, as most are.
func (r *lineReader) whole() bool {
	received, _ := r.buffer.Peek(r.buffer.Buffered())
	return bytes.IndexByte(received, '\n') >= 0
}

// readWithin sets a timeout for reading. It checks ctx afterwards, so that a deadline which interrupt has set before is not lost.
func (r *lineReader) readWithin(ctx context.Context, d time.Duration) error {
	if err := r.socket.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	return ctx.Err()
}

// line returns a line of at most most bytes without its end. It is valid until the next call, and until done is called.
func (r *lineReader) line(ctx context.Context, most int) (line []byte, done func(), err error) {
	done = func() {}
	part, err := r.buffer.ReadSlice('\n')
	if err == nil {
		return trimEnd(part, most, done)
	}
	var whole []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(whole) <= shortLine && len(whole)+len(part) > shortLine && most > shortLine {
			if done, err = r.enterLarge(ctx); err != nil {
				return nil, done, err
			}
		}
		if whole = append(whole, part...); len(whole) > most+2 {
			done()
			return nil, func() {}, errLongLine
		}
		part, err = r.buffer.ReadSlice('\n')
	}
	if err != nil {
		done()
		if errors.Is(err, io.EOF) && len(whole)+len(part) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, func() {}, err
	}
	return trimEnd(append(whole, part...), most, done)
}

// enterLarge waits for a place among the long lines, as long as a line may take, and then starts the timeout of the line again. done frees the
// place; it may be called again.
func (r *lineReader) enterLarge(ctx context.Context) (done func(), err error) {
	timer := time.NewTimer(lineTime)
	defer timer.Stop()
	select {
	case r.large <- struct{}{}:
		done = sync.OnceFunc(func() { <-r.large })
	case <-timer.C:
		return func() {}, errLongLines
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
	return done, r.readWithin(ctx, lineTime)
}

func trimEnd(line []byte, most int, done func()) ([]byte, func(), error) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) > most {
		done()
		return nil, func() {}, errLongLine
	}
	return line, done, nil
}

// A refusal is the answer to a command that was not executed.
type refusal struct {
	code, text string
}

func (r *refusal) Error() string { return r.text }

// refuse returns the answer to a mistake of the client.
func refuse(format string, args ...any) error {
	return &refusal{"ERR", fmt.Sprintf(format, args...)}
}

// mostErrorText bounds the text of an error in an answer, in bytes.
const mostErrorText = 1000

// A reply is an answer in RESP2.
type reply []byte

func simple(text string) reply { return reply("+" + text + "\r\n") }

func failed(r *refusal) reply {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, r.text)
	return reply("-" + r.code + " " + strings.ToValidUTF8(text[:min(len(text), mostErrorText)], "") + "\r\n")
}

func bulk(text []byte) reply {
	b := make(reply, 0, len(text)+16)
	b = strconv.AppendInt(append(b, '$'), int64(len(text)), 10)
	b = append(append(b, "\r\n"...), text...)
	return append(b, "\r\n"...)
}

var (
	ok      = simple("OK")
	nothing = reply("$-1\r\n")
)

// write sends an answer.
func (c *conn) write(r reply) error {
	if err := c.socket.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := c.socket.Write(r)
	return err
}
