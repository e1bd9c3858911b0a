package detach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A place is a test server whose handler detaches its answers.
type place struct {
	t      *testing.T
	server *httptest.Server
	stop   context.CancelCauseFunc
	took   chan bool // what Take returned
	ended  chan error
	conns  chan *Conn
	wg     sync.WaitGroup

	mu    sync.Mutex
	order []string
}

// newPlace returns a server whose answers are continued by run.
func newPlace(t *testing.T, run func(context.Context, *Conn) error, start func(*httptest.Server)) *place {
	p := &place{t: t, took: make(chan bool, 1), ended: make(chan error, 1), conns: make(chan *Conn, 1)}
	ctx, stop := context.WithCancelCause(t.Context())
	p.stop = stop
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer p.note("handler")
		w.Header().Set("Content-Type", "text/event-stream")
		p.took <- Take(w, r, func(ctx context.Context, c *Conn) {
			p.conns <- c
			p.ended <- run(ctx, c)
		})
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
	})
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p.note("returned")
			Defer(r.Context(), func() { p.note("outer") })
		}()
		ctx, leave := context.WithTimeout(r.Context(), time.Hour)
		defer Defer(r.Context(), func() { p.note("inner"); leave() })
		inner(w, r.WithContext(ctx))
	})
	p.server = httptest.NewUnstartedServer(Wrap(ctx, func(run func()) { p.wg.Go(run) }, outer))
	start(p.server)
	t.Cleanup(func() {
		stop(nil)
		p.server.CloseClientConnections()
		p.server.Close()
		p.wg.Wait()
	})
	return p
}

func (p *place) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = append(p.order, what)
}

// notes returns the events of the test after the server is closed.
func (p *place) notes() []string {
	p.server.Close()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.order)
}

// dial sends a request for an event stream.
func (p *place) dial(path, more string) net.Conn {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.server.Listener.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n%s", path, more); err != nil {
		p.t.Fatal(err)
	}
	return conn
}

func (p *place) end() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(20 * time.Second):
		p.t.Fatal("the answer does not end")
		return nil
	}
}

// never returns a time after the end of any test.
func never() time.Time { return time.Now().Add(time.Hour) }

// TestAnswerGoesOn detaches an answer: its handlers return before it is over, and deferred calls run after it.
func TestAnswerGoesOn(t *testing.T) {
	p := newPlace(t, func(ctx context.Context, c *Conn) error {
		if err := c.Wait(ctx, never()); err != nil {
			return err
		}
		_, _ = io.WriteString(c, "one ")
		if err := c.Wait(ctx, time.Now().Add(time.Millisecond)); err != nil {
			return err
		}
		_, err := io.WriteString(c, "two")
		return err
	}, (*httptest.Server).Start)
	conn := p.dial("/", "")
	c := <-p.conns
	p.note("goes on")
	c.Wake()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if string(text) != "one two" || err != nil || p.end() != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if h := answer.Header; answer.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Date") == "" || !answer.Close {
		t.Errorf("got %s, %v", answer.Status, answer.Header)
	}
	if got, want := p.notes(), []string{"handler", "returned", "goes on", "inner", "outer"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnswerIsCanceled: an answer ends when the ctx of Wrap is canceled, even if its client does not receive what is sent.
func TestAnswerIsCanceled(t *testing.T) {
	stopped := errors.New("stopped")
	for name, run := range map[string]func(context.Context, *Conn) error{
		"waits": func(ctx context.Context, c *Conn) error {
			for {
				if err := c.Wait(ctx, never()); err != nil {
					return err
				}
			}
		},
		"sends": func(ctx context.Context, c *Conn) error {
			for {
				_ = c.SetWriteDeadline(never())
				if _, err := c.Write(make([]byte, 1<<20)); err == nil {
					continue
				}
				_ = c.SetWriteDeadline(never())
				if _, err := c.Write(make([]byte, 1<<20)); err == nil {
					return errors.New("what is sent later arrives")
				}
				return context.Cause(ctx)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "sends" {
				testenv.LongTest(t) // for the two seconds in which an answer may still be sent
			}
			p := newPlace(t, run, (*httptest.Server).Start)
			p.dial("/", "")
			c := <-p.conns
			c.Wake()
			time.Sleep(50 * time.Millisecond) // now it is in Wait, whatever it started with
			c.Wake()                          // while nothing waits for it
			p.stop(stopped)
			if err := p.end(); !errors.Is(err, stopped) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// TestClientLeaves: an answer ends when its client has left, or sends more than a request.
func TestClientLeaves(t *testing.T) {
	wait := func(ctx context.Context, c *Conn) error { return c.Wait(ctx, never()) }
	p := newPlace(t, wait, (*httptest.Server).Start)
	conn := p.dial("/", "")
	<-p.conns // if a client leaves earlier, its answer is not detached
	_ = conn.Close()
	if err := p.end(); !errors.Is(err, io.EOF) {
		t.Errorf("the client has disconnected, and the answer ended with %v", err)
	}
	p = newPlace(t, wait, (*httptest.Server).Start)
	conn = p.dial("/", "")
	<-p.conns
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n")
	if err := p.end(); !errors.Is(err, errMore) {
		t.Errorf("the client has sent more, and the answer ended with %v", err)
	}
}

// TestWakes wakes an answer from several goroutines: no wake-up is lost.
func TestWakes(t *testing.T) {
	const n = 5000
	var mu sync.Mutex
	count, seen := 0, make(chan int, n)
	p := newPlace(t, func(ctx context.Context, c *Conn) error {
		for {
			mu.Lock()
			now := count
			mu.Unlock()
			if seen <- now; now == n {
				return nil
			}
			if err := c.Wait(ctx, never()); err != nil {
				return err
			}
		}
	}, (*httptest.Server).Start)
	p.dial("/", "")
	c := <-p.conns
	for i := range n {
		mu.Lock()
		count++
		mu.Unlock()
		c.Wake()
		for got := 0; i%3 == 0 && got <= i; { // so that every third time it has to wait
			select {
			case got = <-seen:
			case <-time.After(20 * time.Second):
				t.Fatalf("the answer was not woken for %d", i+1)
			}
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// TestNotDetached: answers that cannot be detached are left to net/http, and deferred calls run when the handlers return.
func TestNotDetached(t *testing.T) {
	run := func(_ context.Context, c *Conn) error {
		_, err := io.WriteString(c, "on its own")
		return err
	}
	ask := func(p *place, method, accept string, want bool) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, p.server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := p.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := <-p.took; got != want {
			t.Errorf("%s of %q by %s: detached: %t", method, accept, answer.Proto, got)
		}
		order := "handler inner returned outer"
		if want {
			order = "handler returned inner outer"
		}
		if got := strings.Join(p.notes(), " "); got != order {
			t.Errorf("%s of %q by %s: %s, want %s", method, accept, answer.Proto, got, order)
		}
	}
	ask(newPlace(t, run, (*httptest.Server).Start), "GET", "text/event-stream", true)
	ask(newPlace(t, run, (*httptest.Server).Start), "GET", "text/html", false)
	ask(newPlace(t, run, (*httptest.Server).Start), "HEAD", "text/event-stream", false)
	ask(newPlace(t, run, (*httptest.Server).StartTLS), "GET", "text/event-stream", false)
	ask(newPlace(t, run, func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() }), "GET", "text/event-stream", false)
	if Take(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), nil) {
		t.Error("an answer was detached without Wrap")
	}
}

// TestPanic: an answer whose handler panics does not continue.
func TestPanic(t *testing.T) {
	p := newPlace(t, func(context.Context, *Conn) error { return errors.New("it went on") }, (*httptest.Server).Start)
	conn := p.dial("/panic", "")
	if text, err := io.ReadAll(conn); len(text) > 0 || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if got, want := strings.Join(p.notes(), " "), "handler returned inner outer"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(p.ended) > 0 {
		t.Error("the answer continued")
	}
}
