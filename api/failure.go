package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/problem"
	"github.com/meanwhile-go/meanwhile/job"
)

// A refusal is an error whose text the client receives.
type refusal struct {
	status int
	detail string
	more   map[string]any // members of the problem
	allow  string         // for the header Allow
}

func (r *refusal) Error() string { return r.detail }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, detail: fmt.Sprintf(format, args...)}
}

// partial is an error after which a part of the work is done.
type partial struct {
	error
	done map[string]any
}

func (p *partial) Unwrap() error { return p.error }

// fail answers with an error. Errors of the store are only logged: they may name hosts and users.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	refused := explain(err)
	if refused == nil {
		a.config.Logger.Error("api: the store failed", "method", r.Method, "path", r.URL.Path, "error", err)
		refused = refuse(http.StatusServiceUnavailable, "the store of the jobs failed; the log of the server says why")
	}
	more := map[string]any{}
	maps.Copy(more, refused.more)
	if some, ok := errors.AsType[*partial](err); ok {
		maps.Copy(more, some.done)
	}
	if refused.allow != "" {
		w.Header().Set("Allow", refused.allow)
	}
	if refused.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	readOn(w, r)
	problem.Write(w, refused.status, refused.detail, more)
}

// readOn reads the rest of the body, up to the size that a request may have and for a short time. A client that does not read the answer before it
// has sent everything, such as those of Python's standard library, would otherwise get none: net/http closes the connection if much is left.
func readOn(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" { // the client waits for permission to send
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readOnTime))
	_, _ = io.CopyN(io.Discard, r.Body, mostBulk)
}

// explain returns what to answer the client, or nil for an error that it must not see.
func explain(err error) *refusal {
	if known, ok := errors.AsType[*refusal](err); ok {
		return known
	}
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", long.Limit)
	}
	switch {
	case errors.Is(err, job.ErrNotFound):
		return refuse(http.StatusNotFound, "no such job")
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(http.StatusServiceUnavailable, "it took too long, and was given up: ask for less at once")
	case errors.Is(err, context.Canceled):
		return refuse(http.StatusServiceUnavailable, "the request was given up: its sender went away, or the server stops")
	}
	return nil
}

// notRouted returns the refusal of a request that the mux has no handler for.
func notRouted(handler http.Handler, r *http.Request) error {
	var answer muted
	handler.ServeHTTP(&answer, r)
	if answer.status == http.StatusMethodNotAllowed {
		allow := answer.Header().Get("Allow")
		return &refusal{status: answer.status, detail: "this path takes " + allow + ", not " + r.Method, allow: allow}
	}
	return refuse(http.StatusNotFound, "there is nothing at this path; %s/openapi.yaml lists what there is", Prefix)
}

// muted is a ResponseWriter that keeps no body.
type muted struct {
	header http.Header
	status int
}

func (m *muted) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}
func (m *muted) Write(text []byte) (int, error) { return len(text), nil }
func (m *muted) WriteHeader(status int)         { m.status = status }
