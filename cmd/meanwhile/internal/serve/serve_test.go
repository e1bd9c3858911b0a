package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestStop stops a server during a request and a stream: the request is answered, and the stream is asked to end.
func TestStop(t *testing.T) {
	testenv.LongTest(t) // a stream has a second to end by itself
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, stopped := make(chan struct{}, 2), errors.New("stopped")
	var cause error
	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
		cause = context.Cause(r.Context())
	})
	mux.HandleFunc("/request", func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		if meanwhile.Sleep(r.Context(), streamTime/2) == nil {
			_, _ = io.WriteString(w, "whole")
		}
	})
	ctx, stop := context.WithCancelCause(t.Context())
	p := &plan{logger: slog.New(slog.DiscardHandler)}
	err = meanwhile.Run(t.Context(), func(all context.Context) error {
		server := meanwhile.Go(all, func(context.Context) error {
			err := meanwhile.Run(ctx, func(ctx context.Context) error { return p.listen(ctx, listener, mux, func() {}) })
			if errors.Is(err, stopped) {
				return nil
			}
			return err
		})
		answers := map[string]*meanwhile.Task[string]{}
		for _, path := range []string{"/stream", "/request"} {
			answers[path] = meanwhile.Async(all, func(ctx context.Context) (string, error) {
				r, err := http.NewRequestWithContext(ctx, "GET", "http://"+listener.Addr().String()+path, nil)
				if err != nil {
					return "", err
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					return "", err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				return string(text), err
			})
		}
		<-begun
		<-begun
		at := time.Now()
		stop(stopped)
		if got, err := answers["/request"].Wait(all); got != "whole" || err != nil {
			t.Errorf("the request got %q, %v", got, err)
		}
		if _, err := answers["/stream"].Wait(all); err != nil {
			t.Errorf("the stream: %v", err)
		}
		_, err := server.Wait(all)
		if took := time.Since(at); took < streamTime || took > stopTime {
			t.Errorf("it took %v, want from %v to %v", took, streamTime, stopTime)
		}
		return err
	})
	if err != nil || !errors.Is(cause, stopped) {
		t.Errorf("%v; the stream was canceled by %v", err, cause)
	}
}
