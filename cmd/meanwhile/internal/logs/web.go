package logs

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/problem"
	"github.com/meanwhile-go/meanwhile/live"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/loki"
	"github.com/meanwhile-go/meanwhile/logs/otlp"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// Paths other than those of searches.
const (
	otlpPath    = "/v1/logs"
	jsonPath    = "/v1/jsonlines"
	lokiPath    = "/loki/api/v1/push"
	metricsPath = "/metrics"
	livePath    = "/debug/meanwhile"
)

const pageTitle = "meanwhile logs"

// handler answers HTTP: readers sign in or send a token, writers need the key. Without either it only answers this machine.
func (p *plan) handler(store storage.Store, srv func() *server.Server) (http.Handler, error) {
	mux := http.NewServeMux()
	page := http.NotFoundHandler()
	stats := func() any { return p.report(srv()) }
	if store == nil {
		mux.Handle(remote.Prefix, p.reading.Wrap(remote.Handler(nil, stats)))
	} else {
		mux.Handle(remote.Prefix, p.reading.Wrap(remote.Handler(store, stats)))
		d := dash.Config{Logs: store, Title: pageTitle}
		if p.users > 0 {
			d.SignOut = access.SignOutPath
		}
		page = dash.New(d)
		mux.Handle("/logs", p.reading.Wrap(page)) // without this, mux would redirect to the prefix of searches
	}
	mux.Handle("/", p.reading.Wrap(page))
	batchers := func(name string) func(*http.Request) input.Batcher {
		return func(*http.Request) input.Batcher { return srv().Batcher(name) }
	}
	byOTLP := otlp.Handler(batchers("otlp"))
	for path, takes := range map[string]http.Handler{
		otlpPath: byOTLP, otlp.GRPCPath: byOTLP,
		jsonPath: jsonlines.Handler(batchers("json over http"), jsonlines.Config{}),
		lokiPath: loki.Handler(batchers("loki")),
	} {
		writing, err := p.keyed(takes)
		if err != nil {
			return nil, err
		}
		mux.Handle(path, writing)
	}
	mux.Handle(metricsPath, p.reading.Wrap(metrics.NewLogs(func() server.Stats { return srv().Stats() }).Handler()))
	mux.Handle(livePath, p.reading.Wrap(live.Handler(live.Config{Remote: true})))
	for _, path := range []string{"/healthz", "/ready"} { // the second is for clients of Loki
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	}
	bulk, err := p.keyed(jsonlines.BulkHandler(batchers("bulk")))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if jsonlines.IsBulk(r) { // an index may be any path
			bulk.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// keyed restricts writes to clients that send the key.
func (p *plan) keyed(next http.Handler) (http.Handler, error) {
	key, err := p.keyOf(nameHTTP)
	if err != nil {
		return nil, err
	}
	if open, err := p.openHTTP(); err != nil {
		return nil, err
	} else if key == "" {
		guard, err := access.New(access.Config{Local: !open, Hosts: p.hosts(false), Logger: p.logger})
		if err != nil {
			return nil, err
		}
		return guard.Wrap(next), nil
	}
	want := sha256.Sum256([]byte(key))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(keyIn(r.Header.Get("Authorization"))))
		if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="meanwhile logs"`)
			problem.Write(w, http.StatusUnauthorized, "bring the key of the server, as Authorization: Bearer KEY", nil)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// keyIn returns the key in an Authorization header, or "". The header is Bearer KEY or, for clients that do not support it, any user with the key as
// password (Basic), or an API key with any ID (ApiKey).
func keyIn(header string) string {
	scheme, key, _ := strings.Cut(header, " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		return key
	case "basic", "apikey":
		pair, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			return ""
		}
		_, password, _ := strings.Cut(string(pair), ":")
		return password
	}
	return ""
}
