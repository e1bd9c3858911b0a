package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

func client(t *testing.T, address string, timeout time.Duration) *Client {
	t.Helper()
	a, err := ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(a, timeout)
}

// serve returns a client of a server with this handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return client(t, s.URL, time.Minute)
}

var snapshot = live.Snapshot{
	Program: "shop", PID: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: time.Millisecond, Tasks: 3, Goroutines: 4, Threads: 5, CanCancel: true,
	Trees: []inspect.Node{{
		ID: 1, Name: "a", Path: "a", Kind: "run", State: "running", More: 1,
		Tasks: []inspect.Node{{ID: 2, Name: "b", Path: "a/b", Wait: inspect.Wait{For: "sleep", Until: time.Date(2026, 1, 2, 3, 4, 9, 0, time.UTC)}}},
	}},
}

func TestSnapshot(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != "/debug/meanwhile" || r.FormValue("max") != "12" || r.FormValue("format") != "json" {
			t.Errorf("got %s %s", r.Method, r.URL)
		}
		_ = json.NewEncoder(w).Encode(snapshot)
	})
	got, err := c.Snapshot(t.Context(), 12)
	if err != nil || !reflect.DeepEqual(got, snapshot) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDetail(t *testing.T) {
	want := live.Detail{Task: inspect.Node{ID: 9, Name: "x", Path: "a/x"}, Stack: []inspect.Frame{{Func: "main.f", File: "f.go", Line: 3}}}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("task") != "9" {
			http.Error(w, "no such task", http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(want)
	})
	if got, err := c.Detail(t.Context(), 9); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Detail(t.Context(), 8); !errors.Is(err, ErrEnded) {
		t.Errorf("of a task that has ended: got %v", err)
	}
}

func TestCancel(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != "POST" || r.URL.RawQuery != "" || r.PostFormValue("cancel") != "4294967295":
			t.Errorf("got %s %s %v", r.Method, r.URL, r.PostForm)
		case r.Header.Get("Authorization") != "Bearer open sesame":
			http.Error(w, "the token is wrong", http.StatusUnauthorized)
		case r.PostFormValue("path") != "a/b&c=ü":
			http.Error(w, "the task has ended", http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	n := inspect.Node{ID: 1<<32 - 1, Path: "a/b&c=ü"}
	if err := c.Cancel(t.Context(), n, "open sesame"); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(t.Context(), n, "guess"); err == nil || !strings.Contains(err.Error(), "(401): the token is wrong") {
		t.Errorf("with a wrong token: got %v", err)
	}
	n.Path = "other"
	if err := c.Cancel(t.Context(), n, "open sesame"); !errors.Is(err, ErrEnded) {
		t.Errorf("with another path: got %v", err)
	}
}

// TestCancelIsNotRedirected: a redirect would turn the POST into a GET, which cancels nothing and succeeds.
func TestCancelIsNotRedirected(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/meanwhile" {
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	})
	if err := c.Cancel(t.Context(), inspect.Node{ID: 1}, "x"); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("got %v", err)
	}
}

func TestSnapshotIsRedirected(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/meanwhile" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		_ = json.NewEncoder(w).Encode(snapshot)
	})
	if _, err := c.Snapshot(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func TestUnixSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("socket paths are different on this system")
	}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "localhost" || r.URL.Path != "/debug/meanwhile" {
			t.Errorf("requested %s%s", r.Host, r.URL)
		}
		_ = json.NewEncoder(w).Encode(snapshot)
	})}}
	s.Start()
	defer s.Close()
	if got, err := client(t, "unix:"+path, time.Minute).Snapshot(t.Context(), 1); err != nil || got.PID != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = client(t, "unix:"+path+".not", time.Minute).Snapshot(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "nothing answers at unix:"+path+".not (there is no such socket)") {
		t.Errorf("without a socket: got %v", err)
	}
}

func TestFailures(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		reason  string
		message string // URL stands for the URL of the server
	}{
		{
			"forbidden", answer(403, "only from this machine\nmore\n"),
			"only from this machine", "URL refused the request (403): only from this machine",
		},
		{
			"a sentence that would change the terminal", answer(403, "\x1b[31mred\x07"),
			"?[31mred?", "URL refused the request (403): ?[31mred?",
		},
		{
			"a page as the reason", answer(403, "<html>\n<p>no</p>\n"),
			"Forbidden", "URL refused the request (403): Forbidden",
		},
		{
			"another path", answer(404, "404 page not found\n"),
			"nothing is at that path", "nothing is at URL (404): mount live.Handler there, or give the path where it is, as in HOST/path",
		},
		{
			"failed", answer(500, ""),
			"Internal Server Error", "URL answers with status 500: Internal Server Error",
		},
		{
			"a page", answer(200, "<html>"), "the answer is not from live.Handler",
			"URL answers, but not as live.Handler does (invalid character '<' looking for beginning of value): give the path where the handler is mounted",
		},
		{
			"other JSON", answer(200, `{"cmdline":["x"],"memstats":{}}`), "the answer is not from live.Handler",
			"URL answers, but not as live.Handler does (it has no pid and time): give the path where the handler is mounted",
		},
		{
			"JSON of other types", answer(200, `{"pid":"x"}`), "the answer is not from live.Handler",
			"URL answers, but not as live.Handler does (json: cannot unmarshal string into Go struct field Snapshot.pid of type int): " +
				"give the path where the handler is mounted",
		},
		{
			"empty", answer(200, ""), "the answer is not from live.Handler",
			"URL answers, but not as live.Handler does (EOF): give the path where the handler is mounted",
		},
		{
			"broken off", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, `{"pid":1,"trees":[`)
			},
			"the answer broke off", "ask URL: the answer broke off",
		},
		{
			"closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"the connection was closed", "ask URL: the connection was closed",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t, test.handler)
			_, err := c.Snapshot(t.Context(), 1)
			checkFailure(t, c, err, test.reason, test.message)
		})
	}
}

func checkFailure(t *testing.T, c *Client, err error, reason, message string) {
	t.Helper()
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		t.Fatalf("got %v, want a Failure", err)
	}
	if f.Reason != reason {
		t.Errorf("got the reason %q, want %q", f.Reason, reason)
	}
	message = strings.NewReplacer("URL", c.address.full(), "HOST", c.address.url.Host).Replace(message)
	if got := f.Error(); got != message {
		t.Errorf("got\n%s, want\n%s", got, message)
	}
}

func TestRefusedConnection(t *testing.T) {
	c := client(t, "http://127.0.0.1:1", time.Minute)
	_, err := c.Snapshot(t.Context(), 1)
	checkFailure(t, c, err, "connection refused",
		"nothing answers at URL (connection refused): is the program running, and does it mount live.Handler?")
}

// TestTimeout: the timeout limits the time until a response starts, and until it is complete.
func TestTimeout(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": `{"pid":1,"trees":[`} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			defer s.Close()
			c := client(t, s.URL, 50*time.Millisecond)
			_, err := c.Snapshot(t.Context(), 1)
			checkFailure(t, c, err, "no answer within 50ms", "no answer within 50ms from URL: give it more time with --timeout")
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := c.Snapshot(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestLongAnswer: the limit is for the decompressed response, since a small compressed one can be long.
func TestLongAnswer(t *testing.T) {
	text, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for _, padding := range []int{0, 1 << 20} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", padding)+string(text))
		})
		c.most = 1 << 20
		_, err = c.Snapshot(t.Context(), 1)
		if padding == 0 && err != nil {
			t.Errorf("a short answer: %v", err)
		}
		if padding > 0 {
			checkFailure(t, c, err, "the answer is longer than 1 MB", "the answer is longer than 1 MB of URL: ask for fewer tasks with --max")
		}
	}
}

func TestNoPasswordIsShown(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for what, url := range map[string]string{"not found": s.URL, "refused": "http://127.0.0.1:1"} {
		c := client(t, strings.Replace(url, "//", "//me:secret@", 1), time.Minute)
		if _, err := c.Snapshot(t.Context(), 1); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
