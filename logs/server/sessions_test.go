package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// A rawClient speaks the protocol by hand.
type rawClient struct {
	t    *testing.T
	conn net.Conn
	in   *logwire.Reader
}

func (r *rawClient) send(b []byte) {
	r.t.Helper()
	if _, err := r.conn.Write(b); err != nil {
		r.t.Fatalf("send: %v", err)
	}
}

// next returns the next frame: its kind, and its number or refusal if it has one.
func (r *rawClient) next() (kind byte, n uint64, refusal *logs.Refusal) {
	r.t.Helper()
	f, err := r.in.Next(nil)
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	switch f.Kind {
	case logwire.KindRefusal:
		var code byte
		refusal = &logs.Refusal{}
		code, refusal.Text, err = logwire.ParseRefusal(f.Body)
		refusal.Code = logs.RefusalCode(code)
	case logwire.KindWelcome:
		var w logwire.Welcome
		err = w.Parse(f.Body)
		n = w.Last
	default:
		n, err = logwire.ParseNumber(f.Body)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return f.Kind, n, refusal
}

func (r *rawClient) want(kind byte, n uint64) {
	r.t.Helper()
	if k, got, refusal := r.next(); k != kind || got != n {
		r.t.Fatalf("got frame %q with %d %v, want %q with %d", k, got, refusal, kind, n)
	}
}

func (r *rawClient) wantRefusal(code logs.RefusalCode, text string) {
	r.t.Helper()
	if _, _, refusal := r.next(); refusal == nil || refusal.Code != code || !strings.Contains(refusal.Text, text) {
		r.t.Fatalf("got refusal %v, want %s with %q", refusal, code, text)
	}
	if _, err := r.conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		r.t.Errorf("after the refusal: got %v, want the end", err)
	}
}

// testBatch returns a data frame of one record for each number.
func testBatch(client logs.Client, first, last uint64) []byte {
	b := logs.Batch{Service: "test", Client: client, First: first, Last: last}
	for n := first; n <= last; n++ {
		b.Add(&logs.View{Time: int64(n), Message: fmt.Appendf(nil, "message %d", n)})
	}
	return dataFrame(&b, logwire.CompressNone, b.Data)
}

// serveRaw starts a session in a scope, and returns a raw client of it, and the task with its outcome.
func serveRaw(t *testing.T, ctx context.Context, s *Sessions) (*rawClient, *meanwhile.Task[[]byte]) {
	return resumeRaw(t, ctx, s, nil)
}

func resumeRaw(t *testing.T, ctx context.Context, s *Sessions, state []byte) (*rawClient, *meanwhile.Task[[]byte]) {
	ours, theirs := net.Pipe()
	task := meanwhile.Async(ctx, func(ctx context.Context) ([]byte, error) {
		handover, err := s.Serve(ctx, theirs, state)
		if handover == nil {
			_ = theirs.Close()
		}
		return handover, err
	})
	return &rawClient{t: t, conn: ours, in: logwire.NewReader(ours)}, task
}

func inScope(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if err := meanwhile.Supervise(t.Context(), fn); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionKeepsAndAcknowledges(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		s := NewSessions(store, SessionConfig{Keys: []string{"other", "secret"}})
		c, task := serveRaw(t, ctx, s)
		c.send([]byte(logwire.Magic))
		c.send(logwire.Hello{Client: id, Key: "secret"}.Append(nil))
		c.want(logwire.KindWelcome, 0)
		c.send(testBatch(id, 1, 3))
		c.want(logwire.KindAck, 3)
		c.send(logwire.AppendNumber(nil, logwire.KindPing, 77))
		c.want(logwire.KindPong, 77)
		c.send(testBatch(id, 5, 5)) // 4 was dropped
		c.want(logwire.KindAck, 5)
		c.send(logwire.AppendBye(nil))
		if _, err := task.Wait(ctx); err != nil {
			t.Errorf("got %v", err)
		}

		c, task = serveRaw(t, ctx, s)
		c.send([]byte(logwire.Magic))
		c.send(logwire.Hello{Client: id, Key: "secret"}.Append(nil))
		c.want(logwire.KindWelcome, 5)
		_ = c.conn.Close()
		_, _ = task.Wait(ctx)
		if got, want := len(store.Of(id)), 4; got != want {
			t.Errorf("got %d messages, want %d", got, want)
		}
		return nil
	})
}

// TestSessionPipelines sends more while the store is busy: one Append stores all of it, one acknowledgement answers.
func TestSessionPipelines(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		store.Hold = make(chan struct{})
		c, _ := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		for n := uint64(1); n <= 10; n++ {
			c.send(testBatch(id, n, n))
			synctest.Wait()
		}
		close(store.Hold)
		c.want(logwire.KindAck, 1)
		c.want(logwire.KindAck, 10)
		if store.Calls != 2 {
			t.Errorf("got %d calls of Append, want 2", store.Calls)
		}
		return c.conn.Close()
	})
}

func TestSessionRefuses(t *testing.T) {
	id := logs.NewClient()
	good := append([]byte(logwire.Magic), logwire.Hello{Client: id, Key: "secret"}.Append(nil)...)
	damaged := testBatch(id, 1, 1)
	damaged[len(damaged)-1] ^= 1
	giant := append(bytes.Clone(good), logwire.KindData, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0)
	early := append([]byte(logwire.Magic), logwire.KindData, 0, 0, 0x40, 0, 0, 0, 0, 0) // the head of 4 MiB, whose body does not come
	lying := logs.Batch{Service: "test", First: 1, Last: 2, Count: 2, Data: (&logs.View{Message: []byte("one")}).Append(nil)}
	bomb := logs.Batch{Service: "test", First: 1, Last: 1, Count: 1, Data: make([]byte, 100)}
	packed := logwire.NewCompressor().EncodeAll(make([]byte, 64<<20), nil)
	data := func(b *logs.Batch, compression byte, payload []byte) []byte {
		return append(bytes.Clone(good), dataFrame(b, compression, payload)...)
	}
	tests := []struct {
		name string
		send []byte
		code logs.RefusalCode
		text string
	}{
		{"another protocol", []byte("GET / HTTP/1.1\r\n"), logs.RefusedVersion, "version"},
		{"another version", []byte("mwlogs2\n"), logs.RefusedVersion, "version"},
		{"no key", append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...), logs.RefusedKey, "key"},
		{"a wrong key", append([]byte(logwire.Magic), logwire.Hello{Client: id, Key: "Secret"}.Append(nil)...), logs.RefusedKey, "key"},
		{"no hello", append([]byte(logwire.Magic), logwire.AppendBye(nil)...), logs.RefusedFrame, "hold"},
		{"a batch before the hello", early, logs.RefusedFrame, "hold"},
		{"damage", append(bytes.Clone(good), damaged...), logs.RefusedFrame, "checksum"},
		{"a giant", giant, logs.RefusedFrame, "longer"},
		{"a number again", append(append(bytes.Clone(good), testBatch(id, 3, 4)...), testBatch(id, 4, 5)...), logs.RefusedFrame, "follow"},
		{"fewer records than said", data(&lying, logwire.CompressNone, lying.Data), logs.RefusedFrame, "count"},
		{"a bomb", data(&bomb, logwire.CompressZstd, packed), logs.RefusedFrame, "hold"},
		{"no record", data(&bomb, logwire.CompressNone, bomb.Data), logs.RefusedFrame, "damaged"},
		{"a welcome", append(bytes.Clone(good), logwire.Welcome{}.Append(nil)...), logs.RefusedFrame, "hold"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inScope(t, func(ctx context.Context) error {
				c, task := serveRaw(t, ctx, NewSessions(logtest.NewMemory(), SessionConfig{Keys: []string{"secret"}}))
				go func() { _, _ = c.conn.Write(test.send) }() // a pipe has no buffer, and not all of it may be read
				for {
					kind, _, refusal := c.next()
					if kind != logwire.KindRefusal {
						continue
					}
					if refusal.Code != test.code || !strings.Contains(refusal.Text, test.text) {
						t.Errorf("got %v, want %s with %q", refusal, test.code, test.text)
					}
					break
				}
				if _, err := task.Wait(ctx); err == nil {
					t.Error("the session has no error")
				}
				return c.conn.Close()
			})
		})
	}
}

func TestSessionTimes(t *testing.T) {
	id := logs.NewClient()
	good := append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...)
	tests := []struct {
		name string
		send []byte
		want time.Duration
	}{
		{"nothing is said", nil, 10 * time.Second},
		{"half a hello", good[:20], 10 * time.Second},
		{"nothing follows the hello", good, 5 * time.Minute},
		{"half a head", append(bytes.Clone(good), testBatch(id, 1, 1)[:3]...), time.Minute},
		{"half a frame", append(bytes.Clone(good), testBatch(id, 1, 1)[:30]...), time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inScope(t, func(ctx context.Context) error {
				begin := time.Now()
				c, task := serveRaw(t, ctx, NewSessions(logtest.NewMemory(), SessionConfig{}))
				go func() { _, _ = io.Copy(io.Discard, c.conn) }()
				c.send(test.send)
				if _, err := task.Wait(ctx); err == nil {
					t.Error("the session has no error")
				}
				if got := time.Since(begin); got != test.want {
					t.Errorf("ended after %v, want %v", got, test.want)
				}
				return c.conn.Close()
			})
		})
	}
}

func TestSessionTellsOfTrouble(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		store.Fail = fmt.Errorf("write a secret path: %w", logs.ErrFull)
		c, task := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		c.send(testBatch(id, 1, 1))
		c.wantRefusal(logs.RefusedUnavailable, "cannot be kept at present")
		if _, err := task.Wait(ctx); !errors.Is(err, logs.ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		return nil
	})
}

// TestSessionFails lets the append of a batch, or its acknowledgement, fail while others are pending or wait for memory: the session ends, and
// frees the memory of all of them.
func TestSessionFails(t *testing.T) {
	tests := []struct {
		name            string
		pending, memory int
		noAck           bool // whether the client does not read the acknowledgement; otherwise the append fails
	}{
		{"others are pending", 4 << 20, 4 << 20, false},
		{"one waits for those before it", 1000, 4 << 20, false},
		{"one waits for memory", 4 << 20, 1000, false},
		{"no acknowledgement", 1000, 4 << 20, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inScope(t, func(ctx context.Context) error {
				store, id, memory := logtest.NewMemory(), logs.NewClient(), meanwhile.NewSemaphore(test.memory)
				store.Hold = make(chan struct{})
				if !test.noAck {
					store.Fail = logs.ErrFull
				}
				s := NewSessions(store, SessionConfig{Pending: test.pending, Memory: memory})
				c, task := serveRaw(t, ctx, s)
				c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
				c.want(logwire.KindWelcome, 0)
				for i, size := range []int{50, 850, 200} { // the first one is being appended when the others come
					b := logs.Batch{Service: "test", Client: id, First: uint64(i + 1), Last: uint64(i + 1)}
					b.Add(&logs.View{Message: make([]byte, size)})
					c.send(dataFrame(&b, logwire.CompressNone, b.Data))
					synctest.Wait()
				}
				close(store.Hold)
				if !test.noAck {
					c.wantRefusal(logs.RefusedUnavailable, "cannot be kept at present")
				}
				if _, err := task.Wait(ctx); err == nil {
					t.Error("the session has no error")
				}
				if n := memory.InUse(); n > 0 {
					t.Errorf("%d bytes of memory are still in use", n)
				}
				return c.conn.Close()
			})
		})
	}
}

// TestSessionSuperseded opens a second connection of a client while the first one's records are being kept: it is welcomed
// with their number.
func TestSessionSuperseded(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		store.Hold = make(chan struct{})
		s := NewSessions(store, SessionConfig{})
		first, old := serveRaw(t, ctx, s)
		first.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		first.want(logwire.KindWelcome, 0)
		first.send(testBatch(id, 1, 2))
		synctest.Wait()
		second, _ := serveRaw(t, ctx, s)
		second.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		synctest.Wait()
		close(store.Hold)
		first.want(logwire.KindAck, 2)
		first.wantRefusal(logs.RefusedSuperseded, "another connection")
		second.want(logwire.KindWelcome, 2)
		if _, err := old.Wait(ctx); err == nil {
			t.Error("the first session has no error")
		}
		synctest.Wait() // a pipe that is closed does not take a deadline, as a connection does
		return second.conn.Close()
	})
}

// TestSessionsSuperseded opens connections of a client again and again while the first one's records are being kept, like a client that
// gets no answer. Only the newest one waits, for the first one.
func TestSessionsSuperseded(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		store.Hold = make(chan struct{})
		s := NewSessions(store, SessionConfig{})
		open := func() (*rawClient, *meanwhile.Task[[]byte]) {
			c, task := serveRaw(t, ctx, s)
			c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
			return c, task
		}
		superseded := func(c *rawClient, task *meanwhile.Task[[]byte]) {
			t.Helper()
			c.wantRefusal(logs.RefusedSuperseded, "another connection")
			if _, err := task.Wait(ctx); err == nil {
				t.Error("a session that was superseded has no error")
			}
		}
		first, old := open()
		first.want(logwire.KindWelcome, 0)
		first.send(testBatch(id, 1, 2))
		synctest.Wait()
		last, newest := open()
		for range 3 {
			waits, task := last, newest
			synctest.Wait()
			last, newest = open()
			superseded(waits, task)
		}
		synctest.Wait()
		close(store.Hold)
		first.want(logwire.KindAck, 2)
		superseded(first, old)
		last.want(logwire.KindWelcome, 2)
		synctest.Wait() // a pipe that is closed does not take a deadline, as a connection does
		return last.conn.Close()
	})
}

// TestSessionLeaves keeps and acknowledges what was read when the server ends.
func TestSessionLeaves(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := logtest.NewMemory(), logs.NewClient()
		store.Hold = make(chan struct{})
		c, task := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		c.send(testBatch(id, 1, 2))
		synctest.Wait()
		task.Cancel(errors.New("the server ends"))
		synctest.Wait()
		close(store.Hold)
		c.want(logwire.KindAck, 2)
		c.wantRefusal(logs.RefusedLeaving, "ends")
		return nil
	})
}

// TestSessionHandsOver ends a session at each byte of what a client sends, and continues with another one.
func TestSessionHandsOver(t *testing.T) {
	id := logs.NewClient()
	sent := append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...)
	sent = append(append(sent, testBatch(id, 1, 2)...), testBatch(id, 3, 3)...)
	for at := range len(sent) + 1 {
		inScope(t, func(ctx context.Context) error {
			store := logtest.NewMemory()
			c, task := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
			answers := make(chan uint64, 10)
			read := func(c *rawClient) {
				for {
					f, err := c.in.Next(nil)
					if err != nil {
						return
					}
					if f.Kind == logwire.KindAck {
						n, _ := logwire.ParseNumber(f.Body)
						answers <- n
					}
				}
			}
			go read(c)
			c.send(sent[:at])
			synctest.Wait()
			task.Cancel(ErrHandOver)
			handover, err := task.Wait(ctx)
			if err != nil || handover == nil {
				t.Fatalf("at byte %d: got %d bytes, %v", at, len(handover), err)
			}
			next, task := resumeRaw(t, ctx, NewSessions(store, SessionConfig{}), handover)
			go read(next)
			next.send(sent[at:])
			next.send(logwire.AppendBye(nil))
			if _, err := task.Wait(ctx); err != nil {
				t.Errorf("at byte %d: %v", at, err)
			}
			if got := len(store.Of(id)); got != 3 {
				t.Errorf("at byte %d: %d messages arrived", at, got)
			}
			synctest.Wait()
			acknowledged := uint64(0)
			for len(answers) > 0 {
				acknowledged = <-answers
			}
			if acknowledged != 3 {
				t.Errorf("at byte %d: acknowledged up to %d, want 3", at, acknowledged)
			}
			_ = c.conn.Close()
			return next.conn.Close()
		})
	}
}
