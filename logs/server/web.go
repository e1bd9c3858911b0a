package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Bounds of a request; handlers of streams set deadlines of their own.
const (
	headerTime = 10 * time.Second
	webTime    = time.Minute
	webIdle    = 2 * time.Minute
	mostHeader = 32 << 10
	streamTime = time.Second // for which requests may continue before their ctx is canceled
	webEnd     = 3 * time.Second
)

// web answers requests until the server ends, and then lets running ones finish.
func (s *Server) web(ctx context.Context, l *openListener) error {
	base, cancel := context.WithCancelCause(ctx)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // which gRPC needs without TLS
	server := &http.Server{
		Handler: l.Handler, TLSConfig: l.TLS, Protocols: protocols,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTime, ReadTimeout: webTime, WriteTimeout: webTime, IdleTimeout: webIdle, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		defer cancel(nil) // not where Serve returns, which is before the requests have ended
		select {
		case <-s.stopped.Done():
		case <-ctx.Done():
		}
		streams := time.AfterFunc(streamTime, func() { cancel(errServerEnds) })
		defer streams.Stop()
		end, give := context.WithTimeout(ctx, webEnd)
		defer give()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
		return nil
	}, meanwhile.Name("closer"))
	var err error
	if l.TLS == nil {
		err = server.Serve(l.stream)
	} else {
		err = server.ServeTLS(l.stream, "", "")
	}
	if s.ends() || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.Name, err)
}

// errServerEnds is the cause with which the server cancels requests and sessions when it ends. It is [logs.ErrClosed], too: nothing is
// stored any more.
var errServerEnds error = serverEnds{}

type serverEnds struct{}

func (serverEnds) Error() string        { return "the server ends" }
func (serverEnds) Is(target error) bool { return target == logs.ErrClosed }
