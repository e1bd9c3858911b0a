package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A server answers in various ways, and counts the requests.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	changed chan struct{} // closed by the next request
	asked   map[string]int
	running map[string]int
	most    map[string]int // maximum number of concurrent requests
}

func newServer() *server {
	s := &server{changed: make(chan struct{}), asked: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine\n") })
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/after", s.after)
	mux.HandleFunc("/signed", signed)
	mux.HandleFunc("/status/{code}", s.status)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.FormValue("to"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/loop/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		http.Redirect(w, r, fmt.Sprintf("/loop/%d", n+1), http.StatusFound)
	})
	mux.HandleFunc("/endless", endless)
	mux.HandleFunc("/truncated", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "cut")
	})
	mux.HandleFunc("/more", raw("HTTP/1.1 204 No Content\r\n\r\nmore")) // more than a response without a body may have
	mux.HandleFunc("/nought", raw("HTTP/1.1 000 \x1b[2J\r\nContent-Length: 2\r\n\r\nno"))
	mux.HandleFunc("/closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/size/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		w.Header().Set("Content-Length", r.PathValue("n"))
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	})
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/gzip", compressed)
	s.Server = httptest.NewServer(s.count(mux))
	return s
}

// raw sends a response that net/http would not write.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answer)
	}
}

// count counts the requests by path. When a request is counted, a test that waits for it may continue.
func (s *server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		s.mu.Lock()
		s.asked[path]++
		s.running[path]++
		s.most[path] = max(s.most[path], s.running[path])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.running[path]--
		}()
		next.ServeHTTP(w, r)
	})
}

func slow(w http.ResponseWriter, r *http.Request) {
	ms, _ := strconv.Atoi(r.FormValue("ms"))
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		_, _ = io.WriteString(w, "slow\n")
	case <-r.Context().Done():
	}
}

// signed refuses requests that are not signed; package httprequest tests the signature.
func signed(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,") {
		http.Error(w, "not signed", http.StatusUnauthorized)
	}
}

// after answers when the path in the parameter "path" was requested n times.
func (s *server) after(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.FormValue("n"))
	if err == nil {
		err = s.await(r.FormValue("path"), n)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
	}
}

// status answers with the code in the path, until it was requested as often as the parameter "until"
// says. The parameter "after" is sent as Retry-After.
func (s *server) status(w http.ResponseWriter, r *http.Request) {
	code, _ := strconv.Atoi(r.PathValue("code"))
	until, _ := strconv.Atoi(r.FormValue("until"))
	s.mu.Lock()
	asked := s.asked[r.URL.Path]
	s.mu.Unlock()
	if until > 0 && asked >= until {
		_, _ = io.WriteString(w, "at last\n")
		return
	}
	if after := r.FormValue("after"); after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.WriteHeader(code)
}

func endless(w http.ResponseWriter, r *http.Request) {
	chunk := make([]byte, 32<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// echo answers with the contents of the request, one item per line.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "method %s\nhost %s\nbody %q\n", r.Method, r.Host, body)
	_ = r.Header.Write(w)
}

func compressed(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = io.WriteString(w, "plain\n")
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, strings.Repeat("long ", 1000))
	_ = z.Close()
}

// awaitRequests is a script command: "await PATH N" returns when PATH was requested N times.
func (s *server) awaitRequests(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(s.await(args[0], n))
}

func (s *server) await(path string, n int) error {
	deadline := time.After(time.Minute)
	for {
		s.mu.Lock()
		asked, changed := s.asked[path], s.changed
		s.mu.Unlock()
		if asked >= n {
			return nil
		}
		select {
		case <-changed:
		case <-deadline:
			return fmt.Errorf("%s was requested %d times, not %d", path, asked, n)
		}
	}
}

// checkAsked is a script command: "asked PATH N" fails unless PATH was requested N times.
func (s *server) checkAsked(ts *testscript.TestScript, neg bool, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strconv.Itoa(s.asked[args[0]]); (got == args[1]) == neg {
		ts.Fatalf("%s was requested %s times", args[0], got)
	}
}

// checkMost is a script command: "most PATH N" fails if more than N requests for PATH ran concurrently.
func (s *server) checkMost(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.most[args[0]]; got > n || got == 0 {
		ts.Fatalf("%d requests for %s ran at once, want 1 to %d", got, args[0], n)
	}
}
