//go:build unix

package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// startLoki starts the Loki server whose program MEANWHILE_LOKI names, with its default limits. Building it takes minutes, so CI does without it.
func startLoki(t *testing.T) (p *process, address string) {
	t.Helper()
	program := os.Getenv("MEANWHILE_LOKI")
	if program == "" {
		t.Skip("MEANWHILE_LOKI is not the path of the program loki")
	}
	address = free(t)
	_, port, _ := net.SplitHostPort(address)
	_, other, _ := net.SplitHostPort(free(t))
	folder := t.TempDir()
	config := written(t, folder, "loki.yaml", fmt.Sprintf(`
auth_enabled: false
server: {http_listen_address: 127.0.0.1, http_listen_port: %s, grpc_listen_address: 127.0.0.1, grpc_listen_port: %s, log_level: error}
common:
  path_prefix: %s
  instance_addr: 127.0.0.1
  replication_factor: 1
  ring: {kvstore: {store: inmemory}}
  storage: {filesystem: {chunks_directory: %[3]s/chunks, rules_directory: %[3]s/rules}}
ingester: {lifecycler: {min_ready_duration: 0s}}
schema_config: {configs: [{from: 2020-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {prefix: index_, period: 24h}}]}
limits_config: {max_entries_limit_per_query: 100000}
analytics: {reporting_enabled: false}
`, port, other, filepath.Join(folder, "data")))
	return start(t, address, program, "-config.file="+config), address
}

// A lokiLine is a line of a stream.
type lokiLine struct {
	labels   map[string]string
	nanos    int64
	line     string
	metadata map[string]string
}

// lokiLines returns the lines that a server has of a service, by time.
func lokiLines(t *testing.T, address, service string) (lines []lokiLine) {
	t.Helper()
	query := url.Values{
		"query": {fmt.Sprintf(`{service=%q}`, service)}, "limit": {"100000"}, "direction": {"forward"},
		"start": {strconv.FormatInt(time.Now().Add(-time.Hour).UnixNano(), 10)}, "end": {strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)},
	}
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/loki/api/v1/query_range?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("X-Loki-Response-Encoding-Flags", "categorize-labels")
	response, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Result []struct {
				Stream map[string]string
				Values [][3]json.RawMessage
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", response.Status, err)
	}
	for _, stream := range answer.Data.Result {
		for _, value := range stream.Values {
			l := lokiLine{labels: stream.Stream}
			var nanos string
			var rest struct{ StructuredMetadata map[string]string }
			if err := errors.Join(json.Unmarshal(value[0], &nanos), json.Unmarshal(value[1], &l.line), json.Unmarshal(value[2], &rest)); err != nil {
				t.Fatal(err)
			}
			l.nanos, _ = strconv.ParseInt(nanos, 10, 64)
			l.metadata = rest.StructuredMetadata
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b lokiLine) int { return int(a.nanos - b.nanos) })
	return lines
}

// TestLokiFields: labels and metadata are as documented. Loki itself replaces characters that are not allowed in label names with _.
func TestLokiFields(t *testing.T) {
	_, address := startLoki(t)
	s := serve(t, "loki://"+address)
	const service = "größe / api"
	h := s.handler(t, service)
	begun := time.Now().Add(-time.Minute)
	type sample struct {
		level   slog.Level
		message string
		attrs   []any
		want    map[string]string
	}
	samples := []sample{
		{level: slog.LevelError, message: "größer als\n\t\"zwei\" Zeilen \\ 🙂\r\n"},
		{level: slog.LevelWarn + 1, message: "no UTF-8: \xff."},
		{level: slog.LevelInfo, message: "kinds", attrs: []any{
			"text", "a\nb", "none", "", "größe", "ß", slog.Int64("least", math.MinInt64), slog.Uint64("beyond", math.MaxUint64), slog.Float64("float", 0.1), slog.Bool("yes", true),
			slog.Duration("took", 1500*time.Microsecond), slog.Time("since", time.Unix(0, 5)), slog.Group("http", slog.Int("status", 503)),
			"list",
			[]int{1, 2},
			"number", "ours", "level", "theirs", "service", "theirs",
		}, want: map[string]string{
			"text": "a\nb", "gr_e": "ß", "least": "-9223372036854775808", "beyond": "18446744073709551615", "float": "0.1", "yes": "true", "took": "1.5ms",
			"since": "1970-01-01T00:00:00.000000005Z", "http_status": "503", "list": "[1,2]",
			"level_extracted": "theirs", "service_extracted": "theirs",
		}},
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for i, sample := range samples {
			r := slog.NewRecord(begun.Add(time.Duration(i)), sample.level, sample.message, 0)
			r.Add(sample.attrs...)
			if err := h.Handle(ctx, r); err != nil {
				return err
			}
		}
		return h.Flush(ctx)
	}, meanwhile.Name("import"), meanwhile.Attrs(slog.String("job.id", "01JX")))
	if err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, 1)
	lines := lokiLines(t, address, service)
	if len(lines) != len(samples) {
		t.Fatalf("%d of %d lines are stored", len(lines), len(samples))
	}
	for i, sample := range samples {
		at := begun.Add(time.Duration(i))
		r := logs.Record{Service: service, Time: at, Message: sample.message, Number: uint64(i + 1)}
		want := map[string]string{"identity": r.Identity(), "number": strconv.Itoa(i + 1), "task": "import", "job": "01JX"}
		maps.Copy(want, sample.want)
		l := lines[i]
		delete(l.metadata, "detected_level")
		if !maps.Equal(l.metadata, want) {
			t.Errorf("metadata\ngot  %q\nwant %q", l.metadata, want)
		}
		delete(l.labels, "service_name")
		if want := map[string]string{"service": service, "level": strings.ToLower(sample.level.String())}; !maps.Equal(l.labels, want) {
			t.Errorf("labels\ngot  %q\nwant %q", l.labels, want)
		}
		if l.nanos != at.UnixNano() || l.line != strings.ToValidUTF8(sample.message, "\ufffd") {
			t.Errorf("%q at %d, want %q at %d", l.line, l.nanos, sample.message, at.UnixNano())
		}
	}
}

// TestLokiRefused: Loki refuses a whole request because of a line that is too old. That line is found, and the others are stored once.
func TestLokiRefused(t *testing.T) {
	_, address := startLoki(t)
	s := serve(t, "loki://"+address)
	h := s.handler(t, "api")
	const records = 100
	now := time.Now()
	for n := range records {
		r := slog.NewRecord(now.Add(time.Duration(n)), slog.LevelInfo, fmt.Sprint("record ", n), 0)
		if n%40 == 20 {
			r.Time = now.AddDate(0, 0, -30)
		}
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, 1)
	if f := s.forwards(t)[0]; f.Sent != records-2 || f.Refused != 2 || f.Failure != "" {
		t.Errorf("%d records sent and %d refused, failure %q; want %d and 2", f.Sent, f.Refused, f.Failure, records-2)
	}
	if lines := lokiLines(t, address, "api"); len(lines) != records-2 {
		t.Errorf("%d lines are kept, want %d", len(lines), records-2)
	}
}

// TestLokiHarm: a Loki server is killed, and suspended. Each record is stored once.
func TestLokiHarm(t *testing.T) {
	p, address := startLoki(t)
	s := serve(t, "loki://"+address)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return s.log(t, ctx, run/2) })
		for kill := range 3 {
			err := until(time.Minute, func() bool {
				sent := int64(0)
				for _, f := range s.forwards(t) {
					sent += f.Sent
				}
				return sent > int64(kill)*2000
			})
			if err != nil {
				return err
			}
			p.kill()
			p.start()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.hold()
	err = s.log(t, t.Context(), run/2)
	p.release()
	if err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, len(services))
	for _, service := range services {
		var got, want []string
		for _, l := range lokiLines(t, address, service) {
			got = append(got, l.metadata["identity"]+" "+l.line)
		}
		for _, r := range s.kept(t, service) {
			want = append(want, r.Identity()+" "+r.Message)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d lines are kept, %d of them once; want %d", service, len(got), len(slices.Compact(got)), len(want))
		}
	}
	t.Logf("%+v", s.forwards(t))
}
