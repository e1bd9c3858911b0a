//go:build unix

package engines

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A server is a "meanwhile logs serve" process.
type server struct {
	*process
	listen string // address of our own protocol
	http   string
	client *remote.Client
}

// serve starts a server that forwards records to the outputs of the URLs.
func serve(t *testing.T, forward ...string) *server {
	t.Helper()
	s := &server{listen: free(t), http: free(t)}
	folder := t.TempDir()
	var settings strings.Builder
	fmt.Fprintf(&settings, "dir: %s\nlisten: %s\nhttp: %s\nanalogger: ''\n", filepath.Join(folder, "store"), s.listen, s.http)
	for i, to := range forward {
		if i == 0 {
			settings.WriteString("forward:\n")
		}
		fmt.Fprintf(&settings, "  - %s\n", to)
	}
	config := written(t, folder, "logs.yaml", settings.String())
	var err error
	if s.client, err = remote.NewClient(s.http, remote.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	s.process = start(t, s.http, built(t, buildMeanwhile), "logs", "serve", "--config", config)
	return s
}

// handler returns a handler with which a program logs to the server as a service.
func (s *server) handler(t *testing.T, service string) *logs.Handler {
	t.Helper()
	h, err := logs.NewHandler("tcp://"+s.listen, &logs.HandlerOptions{Level: slog.Level(-100), SenderOptions: logs.SenderOptions{
		Service: service, Spool: t.TempDir(), MemoryBytes: 64 << 20, OnError: func(error) {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(t.Context()); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return h
}

// kept returns the records that the server has of a service, in its order.
func (s *server) kept(t *testing.T, service string) (records []logs.Record) {
	t.Helper()
	match, err := filter.Parse("service=" + strconv.Quote(service))
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range s.client.Find(t.Context(), storage.Query{Filter: match}) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// A forward is the progress of an output of a server for a service.
type forward struct {
	Service string
	Next    uint64 // number of the next record to send
	Sent    int64
	Refused int64
	Retries int64
	Failure string
}

// forwards returns the progress of the outputs, or nothing while the server does not answer.
func (s *server) forwards(t *testing.T) (all []forward) {
	t.Helper()
	text, err := s.client.Stats(t.Context())
	if err != nil {
		return nil
	}
	var stats struct{ Forwards map[string][]forward }
	if err := json.Unmarshal(text, &stats); err != nil {
		t.Fatal(err)
	}
	for _, of := range stats.Forwards {
		all = append(all, of...)
	}
	return all
}

// sentAll waits until the output has sent everything of each of the services.
func (s *server) sentAll(t *testing.T, services int) {
	t.Helper()
	next := map[string]uint64{}
	err := until(2*time.Minute, func() bool {
		for _, f := range s.forwards(t) {
			next[f.Service] = f.Next
		}
		stored, err := s.client.Services(t.Context())
		for _, of := range stored {
			if next[of.Service] != of.Last+1 {
				return false
			}
		}
		return err == nil && len(stored) == services
	})
	if err != nil {
		t.Fatalf("records still wait: %v", next)
	}
}

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func written(t *testing.T, folder, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
