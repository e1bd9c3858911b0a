package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// keepLogs is a script command: "keep-logs DIR FILE" stores the records of a file with lines of JSON.
func keepLogs(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(meanwhile.Run(context.Background(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, ts.MkAbs(args[0]), segment.Config{})
		if err != nil {
			return err
		}
		if err := store.Append(ctx, batches(ts, args[1])...); err != nil {
			return err
		}
		return store.Close()
	}))
}

func batches(ts *testscript.TestScript, file string) (all []*logs.Batch) {
	for line := range strings.Lines(ts.ReadFile(file)) {
		var r logs.Record
		ts.Check(json.Unmarshal([]byte(line), &r))
		v := r.View()
		b := &logs.Batch{Service: r.Service}
		b.Add(&v)
		all = append(all, b)
	}
	return all
}

// serveLogs is a script command: "serve-logs DIR" serves an existing store, at $LOGS, to clients with the token "sesame".
func serveLogs(ts *testscript.TestScript, _ bool, args []string) {
	store, err := segment.OpenReadOnly(ts.MkAbs(args[0]), segment.Config{})
	ts.Check(err)
	stats := func() any {
		return map[string]any{"ways": map[string]any{"syslog-tcp": map[string]any{"records": 12, "refused": map[string]int{"too long\x1b[2J": 3}}}, "none": 0}
	}
	handler := remote.Handler(store, stats)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	ts.Setenv("LOGS", server.URL)
	ts.Defer(func() { server.CloseClientConnections(); server.Close(); _ = store.Close() })
}
