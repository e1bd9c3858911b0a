package httprequest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

// serve starts a server and returns its URL.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// newLocal returns a requester that may connect to this machine.
func newLocal(t *testing.T) *requester {
	t.Helper()
	r := newRequester(Config{}, newClient(true))
	t.Cleanup(r.client.CloseIdleConnections)
	return r
}

// permanent reports whether meanwhile.Retry treats an error as final.
func permanent(err error) bool {
	attempts := 0
	_ = meanwhile.Run(context.Background(), func(context.Context) error { attempts++; return retry.After(err, 0) },
		meanwhile.Retry(retry.Policy{Attempts: 2, Base: 1, Max: 1}))
	return attempts == 1
}

func TestDo(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", "r1")
		w.Header().Set("Set-Cookie", "secret=1")
		w.WriteHeader(http.StatusCreated)
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s %s %s %s:%s", r.Method, r.URL, r.Header.Get("X-Id"), body, user, password)
	})
	got, err := newLocal(t).do(t.Context(), Args{
		Method: "put", URL: strings.Replace(url, "//", "//me:pw@", 1) + "/a?b=c#d", Headers: map[string]string{"x-id": "7"}, Body: "text",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "PUT /a?b=c 7 text me:pw"; got.Body != want || got.Status != 201 || got.Truncated || got.BodyBase64 != nil {
		t.Errorf("got %+v, want status 201 and body %q", got, want)
	}
	if got.Headers["X-Request-Id"] != "r1" || got.Headers["Set-Cookie"] != "" {
		t.Errorf("got headers %v, want the ID and no cookie", got.Headers)
	}
	if got.Duration <= 0 {
		t.Errorf("got duration %v", got.Duration)
	}
}

func TestStatuses(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		if after := r.FormValue("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		if status == 302 {
			w.Header().Set("Location", "/200")
		}
		w.WriteHeader(status)
		if status != 204 && status != 304 {
			_, _ = io.WriteString(w, "because\n of\x1b[31m that")
		}
	})
	tests := []struct {
		path   string
		expect Statuses
		want   string // "" is a success
		final  bool
		after  time.Duration
	}{
		{path: "/200"},
		{path: "/204"},
		{path: "/302"},
		{path: "/404", want: "404 Not Found: because of[31m that", final: true},
		{path: "/304", want: "304 Not Modified", final: true},
		{path: "/408", want: "408 Request Timeout"},
		{path: "/425", want: "425 Too Early"},
		{path: "/429", want: "429 Too Many Requests"},
		{path: "/429?after=120", want: "429", after: 2 * time.Minute},
		{path: "/500", want: "500 Internal Server Error"},
		{path: "/503?after=99999999999", want: "503", after: 24 * time.Hour},
		{path: "/503?after=soon", want: "503"},
		{path: "/503?after=-1", want: "503"},
		{path: "/503?after=0", want: "503"},
		{path: "/200", expect: Statuses{{201, 299}}, want: "200 OK", final: true},
		{path: "/404", expect: Statuses{{200, 200}, {404, 404}}},
		{path: "/302", expect: Statuses{{302, 302}}},
		{path: "/503", expect: Statuses{{500, 599}}},
	}
	local := newLocal(t)
	for _, test := range tests {
		_, err := local.do(t.Context(), Args{URL: url + test.path, Expect: test.expect})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, expected %v: got %v, want %q", test.path, test.expect, err, test.want)
			continue
		}
		if err != nil && permanent(err) != test.final {
			t.Errorf("%s: got final %v, want %v", test.path, permanent(err), test.final)
		}
		var after interface{ RetryAfter() time.Duration }
		if errors.As(err, &after) != (test.after > 0) || test.after > 0 && after.RetryAfter() != test.after {
			t.Errorf("%s: got %v, want again after %v", test.path, after, test.after)
		}
	}
}

func TestBodies(t *testing.T) {
	local := newLocal(t)
	tests := []struct {
		name, body string
		check      func(Result) bool
	}{
		{"whole", strings.Repeat("x", 16<<10), func(r Result) bool { return !r.Truncated && len(r.Body) == 16<<10 }},
		{"cut", strings.Repeat("x", 16<<10+1), func(r Result) bool { return r.Truncated && len(r.Body) == 16<<10 }},
		{"cut within a rune", "x" + strings.Repeat("é", 16<<10), func(r Result) bool {
			return r.Truncated && r.Body == "x"+strings.Repeat("é", 8<<10-1) && r.BodyBase64 == nil
		}},
		{"not UTF-8", "\xff\xfe" + strings.Repeat("\x00", 50<<10), func(r Result) bool {
			return r.Truncated && len(r.BodyBase64) == 16<<10 && r.Body == ""
		}},
		{"long in JSON", strings.Repeat("\x01", 16<<10), func(r Result) bool { return r.Truncated && len(r.Body) == 4<<10 }},
		{"broken rune at the end", "x\xc3", func(r Result) bool { return string(r.BodyBase64) == "x\xc3" }},
	}
	for _, test := range tests {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range keptHeaders {
				if name != "Content-Length" && name != "Location" {
					w.Header().Set(name, strings.Repeat("<", 2000))
				}
			}
			_, _ = io.WriteString(w, test.body)
		})
		got, err := local.do(t.Context(), Args{URL: url})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !test.check(got) {
			t.Errorf("%s: got %d bytes of text, %d others, truncated %v", test.name, len(got.Body), len(got.BodyBase64), got.Truncated)
		}
		if text, _ := json.Marshal(got); len(text) > job.MaxResult {
			t.Errorf("%s: the result has %d bytes, at most %d are kept", test.name, len(text), job.MaxResult)
		}
	}
}

// TestEndless reads a response that does not end: it stops after the bytes that are kept.
func TestEndless(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	if got, err := newLocal(t).do(t.Context(), Args{URL: url}); err != nil || !got.Truncated {
		t.Errorf("got truncated %v, %v", got.Truncated, err)
	}
}

// closedPort is a URL where nobody listens. The port of a server that was closed might be in use again.
const closedPort = "http://127.0.0.1:1"

func TestNoAnswer(t *testing.T) {
	hang := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	tests := []struct {
		name string
		args Args
		want string
	}{
		{"refused", Args{URL: closedPort}, "connection refused"},
		{"closed", Args{URL: serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}, "closed without an answer"},
		{"hang", Args{URL: hang, Timeout: Duration(50 * time.Millisecond)}, "no answer within 50ms"},
		{"half", Args{URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), Timeout: Duration(50 * time.Millisecond)}, "no answer within 50ms"},
		{"broken off", Args{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		})}, "the answer broke off"},
		{"unknown host", Args{URL: "http://nothing.invalid/"}, "nothing.invalid"},
	}
	for _, test := range tests {
		_, err := newLocal(t).do(t.Context(), test.args)
		if err == nil || !strings.Contains(err.Error(), test.want) || permanent(err) {
			t.Errorf("%s: got %v, final %v; want %q, to be retried", test.name, err, permanent(err), test.want)
		}
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(job.ErrStopping)
	if _, err := newLocal(t).do(ctx, Args{URL: hang}); !errors.Is(err, job.ErrStopping) {
		t.Errorf("canceled: got %v, want %v", err, job.ErrStopping)
	}
	if _, err := newLocal(t).do(t.Context(), Args{URL: "nowhere"}); err == nil || !permanent(err) {
		t.Errorf("no URL: got %v, want a permanent error", err)
	}
}

// TestNoSecrets searches the errors of a request for its secrets.
func TestNoSecrets(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		user, password, _ := r.BasicAuth()
		fmt.Fprint(w, r.Header.Get("Authorization"), " ", r.Header.Get("X-Key"), " ", user, password, " ", r.URL)
	})
	for _, url := range []string{url, closedPort} {
		for _, a := range []Args{
			{URL: url + "/?key=secret-key", Headers: map[string]string{"Authorization": "Bearer secret-token", "X-Key": "my-secret"}},
			{URL: strings.Replace(url, "//", "//me-secret:secret-password@", 1) + "/x"},
		} {
			_, err := newLocal(t).do(t.Context(), a)
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error without secrets", err)
			}
		}
	}
}

// TestIdempotencyKey checks that repeated requests can be recognized by the ID of the job.
func TestIdempotencyKey(t *testing.T) {
	for _, test := range []struct{ method, given, want string }{
		{"POST", "", "id"}, {"PATCH", "", "id"}, {"GET", "", ""}, {"PUT", "", ""}, {"POST", "own", "own"},
	} {
		a := Args{Method: test.method, URL: "https://a"}
		if test.given != "" {
			a.Headers = map[string]string{"idempotency-key": test.given}
		}
		request, err := a.request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		setIdempotencyKey(request, "id")
		if got := request.Header.Get(idempotencyKey); got != test.want {
			t.Errorf("%s with %q: got %q, want %q", test.method, test.given, got, test.want)
		}
	}
}
