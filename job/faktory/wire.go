package faktory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// usualLine is what a connection has a buffer for; longer lines are collected apart.
const usualLine = 1024

// shortLine is the longest line that is read without waiting for a place among the long ones.
const shortLine = 64 << 10

var errLongLine = errors.New("the command is too long")

// A lineReader reads lines that end in LF or CRLF.
type lineReader struct {
	socket net.Conn
	buffer *bufio.Reader
	large  chan struct{}
}

// idle waits for the first byte of a line, for ever, and then bounds the time of the others.
func (r *lineReader) idle() error {
	if r.buffer.Buffered() > 0 {
		return nil
	}
	_, err := r.buffer.Peek(1)
	return err
}

// line returns a line of at most most bytes without its end. It is valid until the next call, and until done is called.
func (r *lineReader) line(most int) (line []byte, done func(), err error) {
	done = func() {}
	part, err := r.buffer.ReadSlice('\n')
	if err == nil {
		return trimEnd(part, most, done)
	}
	var whole []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(whole) <= shortLine && len(whole)+len(part) > shortLine && most > shortLine {
			r.large <- struct{}{}
			done = func() { <-r.large }
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

func trimEnd(line []byte, most int, done func()) ([]byte, func(), error) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) > most {
		done()
		return nil, func() {}, errLongLine
	}
	return line, done, nil
}

// A refusal is what the client is told of a command that was not done.
type refusal struct {
	code, text string
}

func (r *refusal) Error() string { return r.text }

// refuse makes the answer to a mistake of the client.
func refuse(format string, args ...any) error {
	return &refusal{"ERR", fmt.Sprintf(format, args...)}
}

// mostErrorText bounds what an answer says of an error.
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
	return reply("-" + r.code + " " + text[:min(len(text), mostErrorText)] + "\r\n")
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
