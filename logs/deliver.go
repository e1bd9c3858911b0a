package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

const (
	quiet      = 30 * time.Second // without a frame from the server, after which it is considered dead
	pingAfter  = 10 * time.Second
	writeTime  = 30 * time.Second
	pauseFirst = 50 * time.Millisecond
	pauseMost  = 15 * time.Second
	window     = 4 << 20 // bytes in flight, without an acknowledgement, from which on nothing more is sent
)

// A source provides the batches of one identity that a connection sends.
type source interface {
	// reset is called when a connection starts, with the number up to which the server has the records.
	reset(last uint64) error

	// next returns the next frame to send. If there is none at present, ok is false: there may be one when ready has a value, or after
	// wait, unless that is zero. io.EOF means that there will be no more frames.
	next() (f outFrame, wait time.Duration, ok bool, err error)
	ready() <-chan struct{}

	sent(f outFrame)       // f was written, or writing it failed
	acknowledged(n uint64) // the server has everything up to n
}

// An outFrame is a data frame in two parts.
type outFrame struct {
	head, payload []byte
	batch         *outBatch // the batch that the source releases in sent, or nil
}

// delivering connects and sends, and reconnects, until ctx is canceled or everything was sent after Close.
func (s *Sender) delivering(ctx context.Context) error {
	pause := pauseFirst
	for ctx.Err() == nil {
		s.mu.Lock()
		before := s.acked
		s.mu.Unlock()
		err := s.deliver(ctx, s.id, senderQueue{s})
		if err == nil { // everything was sent after Close
			return nil
		}
		s.mu.Lock()
		moved := s.acked > before
		s.online, s.trouble = false, err
		s.broadcast()
		s.mu.Unlock()
		cond.Signal(s.spill)
		if ctx.Err() != nil {
			return nil
		}
		refusal, refused := errors.AsType[*Refusal](err)
		leaving := refused && refusal.Code == RefusedLeaving
		if !leaving {
			s.errors.report(fmt.Errorf("send to %s: %w", s.to.address, err))
		}
		if moved {
			pause = pauseFirst
		}
		if refused && (refusal.Code == RefusedKey || refusal.Code == RefusedFrame || refusal.Code == RefusedVersion) {
			pause = pauseMost
		}
		if !s.rest(ctx, pause/2+rand.N(pause)) {
			return nil
		}
		pause = min(2*pause, pauseMost)
	}
	return nil
}

// rest waits before the next attempt to connect, only briefly if Flush or Close waits for it. It returns false if ctx is canceled.
func (s *Sender) rest(ctx context.Context, pause time.Duration) bool {
	if meanwhile.Sleep(ctx, min(pause, pauseFirst)) != nil {
		return false
	}
	timer := time.NewTimer(pause - min(pause, pauseFirst))
	defer timer.Stop()
	select {
	case <-s.rush:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// deliver opens one connection and sends the batches of the source. It returns nil after the source has ended, or an error.
func (s *Sender) deliver(ctx context.Context, id Client, from source) error {
	conn, err := s.o.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	in := logwire.NewReader(conn)
	w, err := s.introduce(conn, in, id)
	if err != nil {
		return err
	}
	if err := from.reset(w.Last); err != nil {
		return err
	}
	var bye atomic.Bool
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		reading := meanwhile.Go(ctx, func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // so that writing and reading end
			err := hear(conn, in, from)
			if bye.Load() && errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}, meanwhile.Name("acknowledgements"))
		if err := speak(ctx, conn, from, &bye); err != nil {
			// The server may have sent a refusal before it closed the connection.
			_ = meanwhile.Sleep(ctx, time.Second)
			return err
		}
		_, err := reading.Wait(ctx)
		return err
	}, meanwhile.Name("connection"))
}

// introduce sends the hello and reads the welcome.
func (s *Sender) introduce(conn net.Conn, in *logwire.Reader, id Client) (w logwire.Welcome, err error) {
	if err := conn.SetDeadline(time.Now().Add(connectTimeout)); err != nil {
		return w, err
	}
	if _, err := conn.Write(logwire.Hello{Client: id, Key: s.to.key}.Append([]byte(logwire.Magic))); err != nil {
		return w, err
	}
	f, err := in.Next(nil)
	if errors.Is(err, logwire.ErrSize) || errors.Is(err, logwire.ErrChecksum) { // another protocol, such as HTTP
		return w, fmt.Errorf("the server there does not speak the protocol of logs, whose default port is %s: %w", DefaultPort, err)
	}
	if err != nil {
		return w, fmt.Errorf("wait for the welcome: %w", err)
	}
	defer logwire.GiveBuffer(f.Room)
	switch f.Kind {
	case logwire.KindWelcome:
		err = w.Parse(f.Body)
	case logwire.KindRefusal:
		err = readRefusal(f.Body)
	default:
		err = logwire.ErrBody
	}
	return w, err
}

func readRefusal(body []byte) error {
	code, text, err := logwire.ParseRefusal(body)
	if err != nil {
		return err
	}
	return &Refusal{Code: RefusalCode(code), Text: text}
}

// hear reads acknowledgements and refusals until the server closes the connection.
func hear(conn net.Conn, in *logwire.Reader, from source) error {
	for {
		if err := conn.SetReadDeadline(time.Now().Add(quiet)); err != nil {
			return err
		}
		f, err := in.Next(nil)
		if err != nil {
			return fmt.Errorf("wait for acknowledgements: %w", err)
		}
		switch f.Kind {
		case logwire.KindAck:
			var n uint64
			if n, err = logwire.ParseNumber(f.Body); err == nil {
				from.acknowledged(n)
			}
		case logwire.KindPong:
		case logwire.KindRefusal:
			err = readRefusal(f.Body)
		default:
			err = logwire.ErrBody
		}
		logwire.GiveBuffer(f.Room)
		if err != nil {
			return err
		}
	}
}

// speak sends frames until the source ends; then it sends bye.
func speak(ctx context.Context, conn net.Conn, from source, bye *atomic.Bool) error {
	timer := time.NewTimer(pingAfter)
	defer timer.Stop()
	lastPing := time.Now()
	for {
		f, wait, ok, err := from.next()
		switch {
		case errors.Is(err, io.EOF):
			bye.Store(true)
			return write(conn, logwire.AppendBye(nil), nil)
		case err != nil:
			return err
		case ok:
			err := write(conn, f.head, f.payload)
			from.sent(f)
			if err != nil {
				return err
			}
			if time.Since(lastPing) < pingAfter {
				continue
			}
			wait = time.Nanosecond // a busy connection needs pings as well: a server with a slow disk acknowledges late
		}
		if since := time.Since(lastPing); since >= pingAfter {
			if err := write(conn, logwire.AppendNumber(nil, logwire.KindPing, 0), nil); err != nil {
				return err
			}
			lastPing = time.Now()
			continue
		} else if wait == 0 || wait > pingAfter-since {
			wait = pingAfter - since
		}
		timer.Reset(wait)
		select {
		case <-from.ready():
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func write(conn net.Conn, head, payload []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if len(payload) == 0 {
		_, err := conn.Write(head)
		return err
	}
	parts := net.Buffers{head, payload}
	_, err := parts.WriteTo(conn)
	return err
}
