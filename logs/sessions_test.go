package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// A mapStore is a store for tests: it keeps messages by client in memory, leaves out what it has, as stores do, and
// notices what comes out of order.
type mapStore struct {
	mu       sync.Mutex
	last     map[Client]uint64
	messages map[Client][]string
	calls    int
	fail     error         // what Append returns
	hold     chan struct{} // when not nil, Append waits until it is closed
}

func newMapStore() *mapStore {
	return &mapStore{last: map[Client]uint64{}, messages: map[Client][]string{}}
}

func (m *mapStore) Last(_ context.Context, client Client) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[client], nil
}

func (m *mapStore) Append(ctx context.Context, batches ...*Batch) error {
	m.mu.Lock()
	hold, fail := m.hold, m.fail
	m.calls++
	m.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if fail != nil {
		return fail
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range batches {
		if b.Client != (Client{}) && b.Last <= m.last[b.Client] {
			continue
		}
		m.last[b.Client] = b.Last
		for v, err := range b.Views {
			if err != nil {
				return err
			}
			m.messages[b.Client] = append(m.messages[b.Client], string(v.Message))
		}
	}
	return nil
}

func (m *mapStore) of(client Client) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages[client])
}

// reported returns how many records were dropped as the reports say, and how many other records there are.
func (m *mapStore) reported() (dropped, kept int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, messages := range m.messages {
		for _, message := range messages {
			var n int64
			if _, err := fmt.Sscanf(message, "%d log records were dropped", &n); err == nil {
				dropped += n
			} else {
				kept++
			}
		}
	}
	return dropped, kept
}

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

// next returns the next frame: its kind and, of those that are, the number.
func (r *rawClient) next() (kind byte, n uint64, refusal *Refusal) {
	r.t.Helper()
	f, err := r.in.Next(nil)
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	switch f.Kind {
	case logwire.KindRefusal:
		var code byte
		refusal = &Refusal{}
		code, refusal.Text, err = logwire.ParseRefusal(f.Body)
		refusal.Code = RefusalCode(code)
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

func (r *rawClient) wantRefusal(code RefusalCode, text string) {
	r.t.Helper()
	if _, _, refusal := r.next(); refusal == nil || refusal.Code != code || !strings.Contains(refusal.Text, text) {
		r.t.Fatalf("got refusal %v, want %s with %q", refusal, code, text)
	}
	if _, err := r.conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		r.t.Errorf("after the refusal: got %v, want the end", err)
	}
}

// testBatch returns a data frame of one record for each number.
func testBatch(client Client, first, last uint64) []byte {
	b := Batch{Service: "test", Client: client, First: first, Last: last}
	for n := first; n <= last; n++ {
		b.Add(&View{Time: int64(n), Message: fmt.Appendf(nil, "message %d", n)})
	}
	return dataFrame(&b, logwire.CompressNone, b.Data)
}

// serveRaw gives a client by hand a session in a scope, and returns its outcome.
func serveRaw(t *testing.T, ctx context.Context, s *Sessions) (*rawClient, *meanwhile.Task[[]byte]) {
	return resumeRaw(t, ctx, s, nil)
}

func resumeRaw(t *testing.T, ctx context.Context, s *Sessions, state []byte) (*rawClient, *meanwhile.Task[[]byte]) {
	ours, theirs := net.Pipe()
	task := meanwhile.Async(ctx, func(ctx context.Context) ([]byte, error) {
		handed, err := s.Serve(ctx, theirs, state)
		if handed == nil {
			_ = theirs.Close()
		}
		return handed, err
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
		store, id := newMapStore(), NewClient()
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
		if got, want := len(store.of(id)), 4; got != want {
			t.Errorf("got %d messages, want %d", got, want)
		}
		return nil
	})
}

// TestSessionPipelines sends more while the store is busy: one Append takes all of it, one acknowledgement answers.
func TestSessionPipelines(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := newMapStore(), NewClient()
		store.hold = make(chan struct{})
		c, _ := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		for n := uint64(1); n <= 10; n++ {
			c.send(testBatch(id, n, n))
			synctest.Wait()
		}
		close(store.hold)
		c.want(logwire.KindAck, 1)
		c.want(logwire.KindAck, 10)
		if store.calls != 2 {
			t.Errorf("got %d calls of Append, want 2", store.calls)
		}
		return c.conn.Close()
	})
}

func TestSessionRefuses(t *testing.T) {
	id := NewClient()
	good := append([]byte(logwire.Magic), logwire.Hello{Client: id, Key: "secret"}.Append(nil)...)
	damaged := testBatch(id, 1, 1)
	damaged[len(damaged)-1] ^= 1
	giant := append(bytes.Clone(good), logwire.KindData, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0)
	lying := Batch{Service: "test", First: 1, Last: 2, Count: 2, Data: (&View{Message: []byte("one")}).Append(nil)}
	bomb := Batch{Service: "test", First: 1, Last: 1, Count: 1, Data: make([]byte, 100)}
	packed := logwire.NewCompressor().EncodeAll(make([]byte, 64<<20), nil)
	data := func(b *Batch, compression byte, payload []byte) []byte {
		return append(bytes.Clone(good), dataFrame(b, compression, payload)...)
	}
	tests := []struct {
		name string
		send []byte
		code RefusalCode
		text string
	}{
		{"another protocol", []byte("GET / HTTP/1.1\r\n"), RefusedVersion, "version"},
		{"another version", []byte("mwlogs2\n"), RefusedVersion, "version"},
		{"no key", append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...), RefusedKey, "key"},
		{"a wrong key", append([]byte(logwire.Magic), logwire.Hello{Client: id, Key: "Secret"}.Append(nil)...), RefusedKey, "key"},
		{"no hello", append([]byte(logwire.Magic), logwire.AppendBye(nil)...), RefusedFrame, "hold"},
		{"damage", append(bytes.Clone(good), damaged...), RefusedFrame, "checksum"},
		{"a giant", giant, RefusedFrame, "longer"},
		{"a number again", append(append(bytes.Clone(good), testBatch(id, 3, 4)...), testBatch(id, 4, 5)...), RefusedFrame, "follow"},
		{"fewer records than said", data(&lying, logwire.CompressNone, lying.Data), RefusedFrame, "count"},
		{"a bomb", data(&bomb, logwire.CompressZstd, packed), RefusedFrame, "hold"},
		{"no record", data(&bomb, logwire.CompressNone, bomb.Data), RefusedFrame, "damaged"},
		{"a welcome", append(bytes.Clone(good), logwire.Welcome{}.Append(nil)...), RefusedFrame, "hold"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inScope(t, func(ctx context.Context) error {
				c, task := serveRaw(t, ctx, NewSessions(newMapStore(), SessionConfig{Keys: []string{"secret"}}))
				go func() { _, _ = c.conn.Write(test.send) }() // a pipe has no room, and not all of it may be read
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
	id := NewClient()
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
				c, task := serveRaw(t, ctx, NewSessions(newMapStore(), SessionConfig{}))
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
		store, id := newMapStore(), NewClient()
		store.fail = fmt.Errorf("write a secret path: %w", ErrFull)
		c, task := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		c.send(testBatch(id, 1, 1))
		c.wantRefusal(RefusedUnavailable, "cannot be kept at present")
		if _, err := task.Wait(ctx); !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		return nil
	})
}

// TestSessionSuperseded opens a second connection of a client while the first one's records are being kept: it is welcomed
// with their number.
func TestSessionSuperseded(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := newMapStore(), NewClient()
		store.hold = make(chan struct{})
		s := NewSessions(store, SessionConfig{})
		first, old := serveRaw(t, ctx, s)
		first.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		first.want(logwire.KindWelcome, 0)
		first.send(testBatch(id, 1, 2))
		synctest.Wait()
		second, _ := serveRaw(t, ctx, s)
		second.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		synctest.Wait()
		close(store.hold)
		first.want(logwire.KindAck, 2)
		first.wantRefusal(RefusedSuperseded, "another connection")
		second.want(logwire.KindWelcome, 2)
		if _, err := old.Wait(ctx); err == nil {
			t.Error("the first session has no error")
		}
		synctest.Wait() // a pipe that is closed does not take a deadline, as a connection does
		return second.conn.Close()
	})
}

// TestSessionsSuperseded opens connections of a client again and again while the first one's records are being kept, as a client
// does that gets no answer. Only the newest waits, and for the first.
func TestSessionsSuperseded(t *testing.T) {
	inScope(t, func(ctx context.Context) error {
		store, id := newMapStore(), NewClient()
		store.hold = make(chan struct{})
		s := NewSessions(store, SessionConfig{})
		open := func() (*rawClient, *meanwhile.Task[[]byte]) {
			c, task := serveRaw(t, ctx, s)
			c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
			return c, task
		}
		superseded := func(c *rawClient, task *meanwhile.Task[[]byte]) {
			t.Helper()
			c.wantRefusal(RefusedSuperseded, "another connection")
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
		close(store.hold)
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
		store, id := newMapStore(), NewClient()
		store.hold = make(chan struct{})
		c, task := serveRaw(t, ctx, NewSessions(store, SessionConfig{}))
		c.send(append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...))
		c.want(logwire.KindWelcome, 0)
		c.send(testBatch(id, 1, 2))
		synctest.Wait()
		task.Cancel(errors.New("the server ends"))
		synctest.Wait()
		close(store.hold)
		c.want(logwire.KindAck, 2)
		c.wantRefusal(RefusedLeaving, "ends")
		return nil
	})
}

// TestSessionHandsOver ends a session at each byte of what a client sends, and goes on with another one.
func TestSessionHandsOver(t *testing.T) {
	id := NewClient()
	sent := append([]byte(logwire.Magic), logwire.Hello{Client: id}.Append(nil)...)
	sent = append(append(sent, testBatch(id, 1, 2)...), testBatch(id, 3, 3)...)
	for at := range len(sent) + 1 {
		inScope(t, func(ctx context.Context) error {
			store := newMapStore()
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
			handed, err := task.Wait(ctx)
			if err != nil || handed == nil {
				t.Fatalf("at byte %d: got %d bytes, %v", at, len(handed), err)
			}
			next, task := resumeRaw(t, ctx, NewSessions(store, SessionConfig{}), handed)
			go read(next)
			next.send(sent[at:])
			next.send(logwire.AppendBye(nil))
			if _, err := task.Wait(ctx); err != nil {
				t.Errorf("at byte %d: %v", at, err)
			}
			if got := len(store.of(id)); got != 3 {
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
