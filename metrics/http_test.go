package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meanwhile-go/meanwhile/metrics"
)

func ExampleHTTP() {
	m := metrics.NewHTTP(func(*http.Request) string { return "shop" })
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	fmt.Println(testutil.CollectAndCount(m, "meanwhile_http_requests_total"))
	// Output:
	// 1
}

// TestHTTP: requests are counted by part, method and status, whatever a client sends, and however they end.
func TestHTTP(t *testing.T) {
	m := metrics.NewHTTP(func(r *http.Request) string { return r.URL.Path[1:] })
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(http.StatusEarlyHints)
			http.Error(w, "none", http.StatusNotFound)
			w.WriteHeader(http.StatusOK) // which comes too late
		case "/stream":
			control := http.NewResponseController(w)
			if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			_, _ = w.Write([]byte("x"))
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	}))
	server := httptest.NewUnstartedServer(h)
	server.Start()
	defer server.Close()
	for _, ask := range [][2]string{{"GET", "/missing"}, {"BREW", "/empty"}, {"POST", "/empty"}, {"GET", "/stream"}, {"POST", "/cut"}} { // a GET that is cut off may be sent again
		r, err := http.NewRequestWithContext(t.Context(), ask[0], server.URL+ask[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := server.Client().Do(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	m.SignInFailed("password")
	m.SignInFailed("password")
	server.Close() // so that all have ended
	got := gather(t, m)
	want(t, got, map[string]float64{
		`meanwhile_http_requests_total{code="404",method="GET",part="missing"}`: 1,
		`meanwhile_http_requests_total{code="200",method="other",part="empty"}`: 1,
		`meanwhile_http_requests_total{code="200",method="POST",part="empty"}`:  1,
		`meanwhile_http_requests_total{code="200",method="GET",part="stream"}`:  1,
		`meanwhile_http_request_seconds_count{part="empty"}`:                    2,
		`meanwhile_http_request_seconds_count{part="cut"}`:                      1,
		`meanwhile_http_in_flight`:                                              0,
		`meanwhile_sign_in_failures_total{reason="password"}`:                   2,
	})
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
