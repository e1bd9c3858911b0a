package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// get sends a GET to the server and returns its response, decoded from JSON.
func get[T any](t *testing.T, server *httptest.Server, query string) (got T) {
	t.Helper()
	r := request(t, "GET", server.URL+"/tree?"+query)
	status, body := send(t, server.Client(), r)
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v: %s", query, status, err, body)
	}
	return got
}

// post requests the server to cancel a task.
func post(t *testing.T, server *httptest.Server, id uint32, path string) (status int, body string) {
	t.Helper()
	form := url.Values{"cancel": {strconv.FormatUint(uint64(id), 10)}, "path": {path}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/tree", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = local("POST", "/", "").Header
	return send(t, server.Client(), r)
}

// at returns the task with a path, or nil if there is none.
func at(trees []inspect.Node, path string) *inspect.Node {
	for i := range trees {
		if trees[i].Path == path {
			return &trees[i]
		}
		if n := at(trees[i].Tasks, path); n != nil {
			return n
		}
	}
	return nil
}

func waitToBeCanceled(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// newServer returns a server with a new Handler, which takes a new snapshot for its first request.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/tree", live.Handler(live.Config{CancelToken: secret}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestTasks(t *testing.T) {
	testenv.NeedExact(t)
	server := newServer(t)
	ended := errors.New("the test is over")
	err := meanwhile.Supervise(t.Context(), func(ctx context.Context) error {
		var causes [2]error
		var tasks [2]*meanwhile.Task[struct{}]
		started := make(chan struct{})
		for i, name := range []string{"first", "second"} {
			tasks[i] = meanwhile.Go(ctx, func(ctx context.Context) error {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					started <- struct{}{}
					causes[i] = waitToBeCanceled(ctx)
					return causes[i]
				}, meanwhile.Name("below"))
				return nil
			}, meanwhile.Name(name))
		}
		<-started
		<-started

		s := get[live.Snapshot](t, server, "format=json")
		below := at(s.Trees, "shop/first/below")
		if below == nil || at(s.Trees, "shop/second/below") == nil || s.Tasks < 5 || !s.CanCancel {
			t.Fatalf("got %+v", s)
		}
		_, text := send(t, server.Client(), request(t, "GET", server.URL+"/tree"))
		for _, want := range []string{"shop", "first", "second", "below"} {
			if !strings.Contains(text, want) {
				t.Errorf("the text does not show %s:\n%s", want, text)
			}
		}

		d := get[live.Detail](t, server, "task="+strconv.FormatUint(uint64(below.ID), 10))
		if d.Task.Path != below.Path || d.Task.ID != below.ID || len(d.Task.Tasks) > 0 || d.Task.More != 0 {
			t.Errorf("got %+v, want the task of %+v", d.Task, below)
		}
		if !strings.Contains(functions(d.Stack), "live_test.waitToBeCanceled\n") {
			t.Errorf("the stack does not show the function that waits:\n%s", functions(d.Stack))
		}

		first := at(s.Trees, "shop/first")
		for begun := time.Now(); first.Wait.For != "tasks" && time.Since(begun) < 20*time.Second; { // its goroutine may not have reached its wait yet
			if err := meanwhile.Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
			s = get[live.Snapshot](t, server, "format=json")
			first = at(s.Trees, "shop/first")
		}
		if first.Wait.For != "tasks" || first.State != "joining" {
			t.Errorf("a task that has returned: got state %s, and a wait for %s", first.State, first.Wait.For)
		}
		if status, body := post(t, server, first.ID, "shop/second"); status != http.StatusNotFound {
			t.Errorf("cancel a task by the path of another: status %d: %s", status, body)
		}
		if status, body := post(t, server, first.ID, first.Path); status != http.StatusNoContent || body != "" {
			t.Errorf("cancel: status %d: %s", status, body)
		}
		<-tasks[0].Done()
		if got := causes[0]; got == nil || !strings.HasPrefix(got.Error(), "canceled by a request over HTTP from 127.0.0.1:") {
			t.Errorf("the task below was canceled with the cause %v", got)
		}
		if status, body := post(t, server, first.ID, first.Path); status != http.StatusNotFound || !strings.Contains(body, "ended") {
			t.Errorf("cancel a task that has ended: status %d: %s", status, body)
		}

		after := get[live.Snapshot](t, newServer(t), "format=json")
		if at(after.Trees, "shop/first") != nil || at(after.Trees, "shop/second/below") == nil {
			t.Errorf("once the first was canceled: got %+v", after.Trees)
		}
		tasks[1].Cancel(ended)
		<-tasks[1].Done()
		if !errors.Is(causes[1], ended) {
			t.Errorf("the other task was canceled with the cause %v", causes[1])
		}
		return nil
	}, meanwhile.Name("shop"))
	if err != nil {
		t.Errorf("canceled tasks count as failed: %v", err)
	}
	if after := get[live.Snapshot](t, newServer(t), "format=json"); at(after.Trees, "shop") != nil {
		t.Errorf("after the end of the tree: got %+v", after.Trees)
	}
}

func functions(stack []inspect.Frame) string {
	var b strings.Builder
	for _, f := range stack {
		b.WriteString(f.Func[strings.LastIndex(f.Func, "/")+1:] + "\n")
	}
	return b.String()
}

// No response contains values that the program works with.
func TestNoValues(t *testing.T) {
	t.Setenv("LIVE_TEST_SECRET", secret) // checkAnswer searches for it
	server := newServer(t)
	_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		started := make(chan struct{})
		task := meanwhile.Go(ctx, func(ctx context.Context) error { return waitWith(ctx, secret, started) }, meanwhile.Name("a"))
		<-started
		s := get[live.Snapshot](t, server, "format=json")
		n := at(s.Trees, "shop/a")
		if n == nil {
			t.Fatalf("got %+v", s.Trees)
		}
		for _, query := range []string{"?format=json", "?format=text", "?task=" + strconv.FormatUint(uint64(n.ID), 10)} {
			_, body := send(t, server.Client(), request(t, "GET", server.URL+"/tree"+query))
			for i, arg := range os.Args {
				if (i == 0 || strings.HasPrefix(arg, "-")) && strings.Contains(body, arg) {
					t.Errorf("%s: the response contains %s of the command line: %s", query, arg, body)
				}
			}
		}
		task.Cancel(nil)
		return nil
	}, meanwhile.Name("shop"))
}

//go:noinline
func waitWith(ctx context.Context, value string, started chan<- struct{}) error {
	close(started)
	<-ctx.Done()
	if value == "" {
		return nil
	}
	return ctx.Err()
}
