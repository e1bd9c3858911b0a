package live_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

const secret = "a-secret-that-nobody-may-see"

// shop returns two trees of five tasks and one task, which were made by hand.
func shop() []inspect.Node {
	node := func(id uint32, name, path string, below ...inspect.Node) inspect.Node {
		return inspect.Node{ID: id, Name: name, Path: path, Kind: "task", State: "running", Wait: inspect.Wait{For: "receive"}, Tasks: below}
	}
	buy := node(3, "buy", "shop/orders/buy")
	buy.Age = 90 * time.Second
	buy.Wait = inspect.Wait{For: "network", On: "read", Call: "net/http.(*Client).Do", Func: "shop.buy", File: "shop/buy.go", Line: 12}
	return []inspect.Node{
		node(1, "shop", "shop",
			node(2, "orders", "shop/orders", buy, node(4, "sell", "shop/orders/sell")),
			node(5, "mail", "shop/mail")),
		node(6, "cron", "cron"),
	}
}

// local returns a request as a program on this machine sends it.
func local(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:41234", "localhost:6060"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	return r
}

// ask returns the response of h, and checks what all responses have in common.
func ask(t *testing.T, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	checkAnswer(t, w.Code, w.Header(), w.Body.String())
	return w
}

func checkAnswer(t *testing.T, status int, header http.Header, body string) {
	t.Helper()
	if got := header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("status %d: Cache-Control is %q, want no-store", status, got)
	}
	if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("status %d: X-Content-Type-Options is %q, want nosniff", status, got)
	}
	for name, values := range header {
		body += name + strings.Join(values, "")
	}
	if strings.Contains(body, secret) {
		t.Errorf("status %d: the response contains the token: %s", status, body)
	}
	if status >= 400 && strings.Count(strings.TrimSuffix(body, "\n"), "\n") > 1 {
		t.Errorf("status %d: got more than one line: %s", status, body)
	}
}

// snapshot returns the Snapshot with which h answers a query.
func snapshot(t *testing.T, h http.Handler, query string) live.Snapshot {
	t.Helper()
	s, err := read(ask(t, h, local("GET", "/tree?format=json"+query, "")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns the Snapshot in a response. Goroutines other than the test's own may call it.
func read(w *httptest.ResponseRecorder) (s live.Snapshot, err error) {
	if err = json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != http.StatusOK {
		err = fmt.Errorf("status %d, %w: %.200s", w.Code, err, w.Body)
	}
	return s, err
}

func TestText(t *testing.T) {
	h := live.HandlerOf(live.Config{}, shop)
	for _, target := range []string{"/tree", "/tree?format=text", "/"} {
		w := ask(t, h, local("GET", target, ""))
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != "text/plain; charset=utf-8" {
			t.Errorf("%s: status %d, type %q", target, w.Code, got)
		}
		head, trees, _ := strings.Cut(w.Body.String(), "\n")
		want := regexp.MustCompile(`^` + regexp.QuoteMeta(programName(t)) + ` \(pid \d+\): 6 tasks, [1-9]\d* goroutines, [1-9]\d* threads$`)
		if !want.MatchString(head) {
			t.Errorf("%s: got head line %q, want %s", target, head, want)
		}
		if want := shop()[0].String() + shop()[1].String(); trees != want {
			t.Errorf("%s: got\n%swant\n%s", target, trees, want)
		}
	}
}

func programName(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path)
}

// Counts in text: 1 has the singular, and thousands have commas.
func TestTextCounts(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 tasks", 1: "1 task", 2: "2 tasks", 999: "999 tasks", 1000: "1,000 tasks", 1204: "1,204 tasks", 1_234_567: "1,234,567 tasks",
	} {
		h := live.HandlerOf(live.Config{}, func() []inspect.Node {
			if n == 0 {
				return nil
			}
			return []inspect.Node{{Name: "a", State: "running", More: n - 1}}
		})
		if head, _, _ := strings.Cut(ask(t, h, local("GET", "/", "")).Body.String(), "\n"); !strings.Contains(head, "): "+want+", ") {
			t.Errorf("%d: got %q, want %s", n, head, want)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []live.Config{{}, {CancelToken: " \n"}, {CancelToken: secret}} {
		began := time.Now()
		s := snapshot(t, live.HandlerOf(c, shop), "")
		if !reflect.DeepEqual(s.Trees, shop()) {
			t.Errorf("got trees %+v, want %+v", s.Trees, shop())
		}
		if s.Time.Before(began.Round(0)) || s.Time.After(time.Now()) || s.Took <= 0 || s.Goroutines <= 0 || s.Threads <= 0 {
			t.Errorf("got %+v", s)
		}
		s.Trees, s.Time, s.Took, s.Goroutines, s.Threads = nil, time.Time{}, 0, 0, 0
		want := live.Snapshot{Program: programName(t), PID: os.Getpid(), Tasks: 6, CanCancel: c.CancelToken == secret}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("got %+v, want %+v", s, want)
		}
	}
}

// Without trees, the JSON has an empty list, not null.
func TestJSONWithoutTrees(t *testing.T) {
	w := ask(t, live.HandlerOf(live.Config{}, func() []inspect.Node { return nil }), local("GET", "/?format=json", ""))
	if got := w.Body.String(); !strings.HasSuffix(got, `,"can_cancel":false,"trees":[]}`+"\n") {
		t.Errorf("got %s", got)
	}
}

func TestFormat(t *testing.T) {
	tests := []struct {
		query  string
		accept []string
		want   string
	}{
		{"", nil, "text/plain; charset=utf-8"},
		{"", []string{"application/json"}, "application/json"},
		{"", []string{"text/html, Application/JSON;q=0.9, */*"}, "application/json"},
		{"", []string{"text/html", "application/json"}, "application/json"},
		{"", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "text/plain; charset=utf-8"},
		{"", []string{"application/jsonp"}, "text/plain; charset=utf-8"},
		{"?format=json", []string{"text/plain"}, "application/json"},
		{"?format=text", []string{"application/json"}, "text/plain; charset=utf-8"},
		{"?task=3", []string{"text/plain"}, "application/json"},
	}
	h := live.HandlerOf(live.Config{}, shop)
	for _, test := range tests {
		r := local("GET", "/tree"+test.query, "")
		r.Header["Accept"] = test.accept
		if got := ask(t, h, r).Header().Get("Content-Type"); got != test.want {
			t.Errorf("%q with Accept %q: got %s, want %s", test.query, test.accept, got, test.want)
		}
	}
}

func TestDetail(t *testing.T) {
	h := live.HandlerOf(live.Config{}, shop)
	want := shop()[0].Tasks[0]
	want.Tasks, want.More = nil, 2
	for _, query := range []string{"task=2", "task=2&format=json", "task=2&max=1"} { // regardless of how many tasks are listed
		w := ask(t, h, local("GET", "/tree?"+query, ""))
		var got live.Detail
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", query, w.Code, err, w.Body)
		}
		if !reflect.DeepEqual(got, live.Detail{Task: want}) {
			t.Errorf("%s: got %+v, want %+v", query, got, want)
		}
	}
	if w := ask(t, h, local("GET", "/tree?task=77", "")); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "77") {
		t.Errorf("no such task: status %d, %s", w.Code, w.Body)
	}
}

func TestBadQuery(t *testing.T) {
	tests := []struct{ query, want string }{
		{"max=", "max must be a number from 1 to 1000000"},
		{"max=ten", "max must be a number from 1 to 1000000"},
		{"max=1e3", "max must be a number from 1 to 1000000"},
		{"max=0", "max must be a number from 1 to 1000000"},
		{"max=-1", "max must be a number from 1 to 1000000"},
		{"max=1000001", "max must be a number from 1 to 1000000"},
		{"max=99999999999999999999", "max must be a number from 1 to 1000000"},
		{"task=", "task must be the number of a task"},
		{"task=shop", "task must be the number of a task"},
		{"task=0x2", "task must be the number of a task"},
		{"task=-1", "task must be the number of a task"},
		{"task=4294967296", "task must be the number of a task"},
		{"task=" + secret, "task must be the number of a task"},
		{"format=", "format must be json or text"},
		{"format=yaml", "format must be json or text"},
		{"format=text&task=2", "format must be json for a task"},
		{"max=%zz", "the query cannot be read"},
		{"max=1;task=2", "the query cannot be read"},
	}
	h := live.HandlerOf(live.Config{CancelToken: secret}, func() []inspect.Node {
		t.Error("a snapshot was taken for a request that cannot be answered")
		return nil
	})
	for _, test := range tests {
		w := ask(t, h, local("GET", "/tree?"+test.query, ""))
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), test.want) {
			t.Errorf("%s: got status %d, %swant 400, %s", test.query, w.Code, w.Body, test.want)
		}
	}
}

func TestMethods(t *testing.T) {
	h := live.HandlerOf(live.Config{Remote: true, CancelToken: secret}, shop)
	for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "LOOK"} {
		w := ask(t, h, local(method, "/tree", ""))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != "GET, POST" {
			t.Errorf("%s: status %d, Allow %q", method, w.Code, got)
		}
	}
}

// A countingWriter records the size of the largest piece that was written to it.
type countingWriter struct {
	*httptest.ResponseRecorder
	largest, pieces int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.largest, w.pieces = max(w.largest, len(b)), w.pieces+1
	return w.ResponseRecorder.Write(b)
}

func TestJSONComesInPieces(t *testing.T) {
	h := live.HandlerOf(live.Config{}, func() []inspect.Node {
		return []inspect.Node{{Name: "a", Tasks: make([]inspect.Node, 9_999)}}
	})
	w := &countingWriter{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, local("GET", "/?format=json", ""))
	if w.largest > 64<<10 || w.pieces < 10 || w.Body.Len() < 500_000 {
		t.Errorf("got %d bytes in %d pieces, the largest of %d", w.Body.Len(), w.pieces, w.largest)
	}
}

// A brokenWriter accepts some bytes, and then fails.
type brokenWriter struct {
	http.ResponseWriter
	left int
}

func (w *brokenWriter) Write(b []byte) (int, error) {
	n := min(w.left, len(b))
	w.left -= n
	if n < len(b) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// unlike returns count tasks, each of which has a line of its own.
func unlike(count int) []inspect.Node {
	trees := make([]inspect.Node, count)
	for i := range trees {
		trees[i].Wait.Line = i
	}
	return trees
}

// A response that could not be written completely is aborted: it must not look complete.
func TestBrokenConnection(t *testing.T) {
	h := live.HandlerOf(live.Config{}, func() []inspect.Node { return unlike(5_000) })
	for target, spaces := range map[string][]int{
		"/":             {0, 10, 1000},
		"/?format=json": {0, 10, 1000, 50_000, 100_000},
		"/?task=0":      {0, 10},
	} {
		for _, space := range spaces {
			func() {
				defer func() {
					if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
						t.Errorf("%s, after %d bytes: got %v, want %v", target, space, err, http.ErrAbortHandler)
					}
				}()
				h.ServeHTTP(&brokenWriter{httptest.NewRecorder(), space}, local("GET", target, ""))
			}()
		}
	}
}
