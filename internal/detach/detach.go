// Package detach lets the answer to a request continue after its handlers have returned. An event stream, which waits most of the time, then does not
// need what net/http keeps for a request: a goroutine with the deep stack of the handlers, another goroutine that waits for the client to disconnect,
// three buffers, and the request itself.
package detach

import (
	"context"
	"net/http"
)

type contextKey struct{}

// An answer is a response that may be detached. Its handlers use it one after the other, and then the goroutine that continues it.
type answer struct {
	ctx    context.Context // of the handler that detached it
	cancel context.CancelFunc
	conn   *Conn // nil unless it was detached
	run    func(context.Context, *Conn)
	after  []func() // calls of Defer, the innermost handler's first
}

// Wrap returns a handler whose event streams may be detached, with [Take]. Their ctx is canceled with ctx. start runs a function in another
// goroutine.
//
// Answers over HTTP/2 and TLS are not detached: with HTTP/2 a request has no connection of its own, and with TLS what net/http keeps for a request is
// the smaller part.
//
// A handler between Wrap and Take returns before a detached answer is over. It passes to [Defer] whatever it has to do afterwards.
func Wrap(ctx context.Context, start func(run func()), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.TLS != nil || r.Proto != "HTTP/1.1" || r.Header.Get("Accept") != "text/event-stream" {
			next.ServeHTTP(w, r)
			return
		}
		inner, cancel := context.WithCancel(ctx)
		a := &answer{cancel: cancel}
		stop := context.AfterFunc(r.Context(), cancel)
		returned := false
		defer func() { // also if next panics
			stop()
			if returned && a.conn != nil {
				start(a.goOn)
			} else {
				a.end()
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(inner, contextKey{}, a)))
		returned = true
	})
}

// goOn continues a detached answer.
func (a *answer) goOn() {
	defer a.end()
	defer context.AfterFunc(a.ctx, a.conn.interrupt)()
	a.run(a.ctx, a.conn)
}

// end is called when the answer is over.
func (a *answer) end() {
	a.cancel()
	for _, f := range a.after {
		f()
	}
	if a.conn != nil {
		_ = a.conn.conn.Close()
	}
}

// Take detaches the answer to a request: run is called with the ctx of the request when all handlers have returned, and the answer is over when run
// returns. The status is 200, with the header of w. Take returns false if this answer cannot be detached; then the caller continues with w. Otherwise
// neither the caller nor run may use w and r again: they would stay in memory.
func Take(w http.ResponseWriter, r *http.Request, run func(context.Context, *Conn)) bool {
	a, ok := r.Context().Value(contextKey{}).(*answer)
	if !ok || r.Context().Err() != nil {
		return false
	}
	conn := hijack(w)
	if conn == nil {
		return false
	}
	a.ctx, a.conn, a.run = r.Context(), conn, run
	return true
}

// Defer calls f when the answer to the request of ctx is over: immediately, or if the answer was detached, at its end. A handler calls it as it
// returns. What f refers to stays in memory until then.
func Defer(ctx context.Context, f func()) {
	if a, ok := ctx.Value(contextKey{}).(*answer); ok && a.conn != nil {
		a.after = append(a.after, f)
		return
	}
	f()
}
