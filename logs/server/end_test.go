package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

var toNothing = []server.Route{{To: []server.Destination{{Writer: io.Discard}}}}

// A server whose Ready fails ends, although it listens already.
func TestNotReady(t *testing.T) {
	failure := errors.New("no place for the ID of the process")
	s, err := server.New(server.Config{
		Routes: toNothing, Logger: slog.New(slog.DiscardHandler), Ready: func() error { return failure },
		Listeners: []server.Listener{
			{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{}},
			{Name: "http", Address: "127.0.0.1:0", Handler: http.NotFoundHandler()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		err := s.Run(ctx)
		if ctx.Err() != nil {
			t.Error("it did not end by itself")
		}
		return err
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}

// Requests that are being answered when the server ends continue for a while; then their ctx is canceled with the reason.
func TestRequestAtTheEnd(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	c := server.Config{Routes: toNothing, Logger: slog.New(slog.DiscardHandler), Listeners: []server.Listener{{
		Name: "http", Address: "127.0.0.1:0", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			why := context.Cause(r.Context())
			fmt.Fprint(w, why, errors.Is(why, logs.ErrClosed)) // then handlers of records ask clients to try again
		}),
	}}}
	var said string
	run(t, c, func(ctx context.Context, s *server.Server, address string) {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			response, err := http.Get("http://" + address)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			said = string(text)
			return err
		})
		<-began
	})
	if said != "the server ends true" {
		t.Errorf("its ctx was canceled because %q", said)
	}
}
