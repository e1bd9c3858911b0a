package logs

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/problem"
	"github.com/meanwhile-go/meanwhile/live"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/otlp"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// Paths, beside those of searches.
const (
	otlpPath    = "/v1/logs"
	jsonPath    = "/v1/jsonlines"
	metricsPath = "/metrics"
	livePath    = "/debug/meanwhile"
)

const pageTitle = "meanwhile logs"

// handler answers HTTP: who reads signs in or brings a token, who writes needs the key. Without either it answers this machine only.
func (p *plan) handler(store logs.Store, server func() *logs.Server) (http.Handler, error) {
	mux := http.NewServeMux()
	page := http.NotFoundHandler()
	stats := func() any { return p.tell(server()) }
	if store == nil {
		mux.Handle(remote.Prefix, p.reading.Wrap(remote.Handler(nil, stats)))
	} else {
		mux.Handle(remote.Prefix, p.reading.Wrap(remote.Handler(store, stats)))
		d := dash.Config{Logs: store, Title: pageTitle}
		if p.users > 0 {
			d.SignOut = access.SignOutPath
		}
		page = dash.New(d)
		mux.Handle("/logs", p.reading.Wrap(page)) // which would lead to the prefix of searches
	}
	mux.Handle("/", p.reading.Wrap(page))
	feed := func(way string) func(*http.Request) logs.Feed {
		return func(*http.Request) logs.Feed { return server().Feed(way) }
	}
	for path, takes := range map[string]http.Handler{
		otlpPath: otlp.Handler(feed("otlp")),
		jsonPath: jsonlines.Handler(feed("json over http"), jsonlines.Config{}),
	} {
		writing, err := p.keyed(takes)
		if err != nil {
			return nil, err
		}
		mux.Handle(path, writing)
	}
	mux.Handle(metricsPath, p.reading.Wrap(metrics.NewLogs(func() logs.Stats { return server().Stats() }).Handler()))
	mux.Handle(livePath, p.reading.Wrap(live.Handler(live.Config{Remote: true})))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux, nil
}

// keyed lets those write who bring the key.
func (p *plan) keyed(next http.Handler) (http.Handler, error) {
	if p.Key == "" {
		guard, err := access.New(access.Config{Local: !p.NoAuth, Hosts: p.hosts(false), Logger: p.logger})
		if err != nil {
			return nil, err
		}
		return guard.Wrap(next), nil
	}
	want := sha256.Sum256([]byte(p.Key))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		given := sha256.Sum256([]byte(key))
		if !strings.EqualFold(scheme, "bearer") || subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="meanwhile logs"`)
			problem.Write(w, http.StatusUnauthorized, "bring the key of the server, as Authorization: Bearer KEY", nil)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}
