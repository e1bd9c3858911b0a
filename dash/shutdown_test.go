package dash_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestShutdownEndsLivePages shuts down the server of a program while a browser has a live page open: http.Server.Shutdown waits for all responses,
// and this one would take ten minutes.
func TestShutdownEndsLivePages(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1.1": (*httptest.Server).Start,
		"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(dash.New(dash.Config{Store: memory.New()}))
			start(server)
			defer server.Close()
			for range 2 { // the second request is to a known server
				request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Accept", "text/event-stream")
				answer, err := server.Client().Do(request)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				body := bufio.NewReader(answer.Body)
				if line, err := body.ReadString('\n'); err != nil || answer.Proto[:6] != name[:6] {
					t.Fatalf("got %q by %s, %v", line, answer.Proto, err)
				}
				defer func() {
					if _, err := io.Copy(io.Discard, body); err != nil {
						t.Errorf("the page did not end as an answer does: %v", err)
					}
				}()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := server.Config.Shutdown(ctx); err != nil {
				t.Errorf("the server waits for a live page: %v", err)
				server.CloseClientConnections()
			}
		})
	}
}
