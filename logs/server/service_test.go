package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otlppb "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/loki"
	"github.com/meanwhile-go/meanwhile/logs/otlp"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// repaired are names of services, and under which ones their records are stored.
var repaired = []struct{ what, name, want, reason string }{
	{"a control character", "a\x01b", "a_b", "control character"},
	{"a control character beyond ASCII", "a\u0085b", "a_b", "control character"},
	{"bytes that are not UTF-8", "caf\xe9\xff", "caf__", "not UTF-8"},
	{"a long name", strings.Repeat("n", 200), strings.Repeat("n", 128), "too long"},
	{"a long name that ends within a character", "x" + strings.Repeat("ü", 100), "x" + strings.Repeat("ü", 63), "too long"},
	{"a name that is longer than what is kept of it", strings.Repeat("ü", 200), strings.Repeat("ü", 64), "too long"},
	{"all of it", "\x7f" + strings.Repeat("\xff", 300), strings.Repeat("_", 128), "too long"},
	{"a valid name", "Größe 7", "Größe 7", ""},
	{"a valid name of 128 bytes", strings.Repeat("n", 128), strings.Repeat("n", 128), ""},
	{"no name", "", "unknown_service", ""},
}

func TestRepairService(t *testing.T) {
	for _, test := range repaired {
		if got, reason := logs.RepairService(test.name); got != test.want || reason != test.reason {
			t.Errorf("%s: got %q, %q, want %q, %q", test.what, got, reason, test.want, test.reason)
		}
	}
}

func FuzzRepairService(f *testing.F) {
	for _, test := range repaired {
		f.Add(test.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, reason := logs.RepairService(name)
		if err := logs.CheckService(got); err != nil {
			t.Errorf("%q becomes %q: %v", name, got, err)
		}
		if valid := logs.CheckService(name) == nil; valid != (got == name) || (reason == "") != (valid || name == "") {
			t.Errorf("%q becomes %q, for %q", name, got, reason)
		}
		if again, reason := logs.RepairService(got); again != got || reason != "" {
			t.Errorf("%q becomes %q, and that %q, for %q", name, got, again, reason)
		}
	})
}

// An in is an input through which a test sends one record of a service to a server.
type in struct {
	way     string // whose counters are those of the record
	unnamed string // the service of a record that names none
	bring   func(t *testing.T, service, message string)
}

// names reports whether an input can transmit the name of a service: a tag of RFC 3164 ends before an ASCII control character, and a
// message without a tag is text.
func names(what, service string) bool {
	return what != "syslog of RFC 3164" || !strings.Contains(service, "\x01")
}

// inputs returns all inputs that a server has, whose listeners have the names of their ways.
func inputs(s *server.Server, posts map[string]http.Handler) map[string]in {
	write := func(way, network, first, text string) func(*testing.T) {
		return func(t *testing.T) {
			conn, err := net.Dial(network, s.Addr(way).String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if first != "" {
				fmt.Fprint(conn, first)
				if _, err := io.ReadFull(conn, make([]byte, len("accepted\n"))); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprint(conn, text)
		}
	}
	post := func(t *testing.T, way, query, contentType string, body []byte, answer string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/"+query, bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		posts[way].ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != answer {
			t.Errorf("%s answers %d %q, want %q", way, w.Code, got, answer)
		}
	}
	take := func(t *testing.T, way, path, contentType string, body []byte, status int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		if posts[way].ServeHTTP(w, r); w.Code != status {
			t.Errorf("%s answers %d %s, want %d", way, w.Code, w.Body, status)
		}
	}
	object := func(service, message string) []byte {
		text := fmt.Appendf(nil, `{"msg":%q,"service":"`, message)
		for i := range len(service) { // byte by byte, as strconv would escape what is not UTF-8
			if c := service[i]; c < ' ' {
				text = fmt.Appendf(text, `\u%04x`, c)
			} else {
				text = append(text, c)
			}
		}
		return append(text, "\"}\n"...)
	}
	modern := func(service, message string) string {
		if service == "" {
			service = "-"
		}
		return "<14>1 - host " + strings.ReplaceAll(service, " ", "\u00a0") + " - - - " + message
	}
	counted := func(text string) string { return strconv.Itoa(len(text)) + " " + text }
	return map[string]in{
		"own protocol": {"own", "unknown_service", func(t *testing.T, service, message string) {
			server.SendRaw(t, s.Addr("own").String(), service, message)
		}},
		"Sender": {"own", "sender", func(t *testing.T, service, message string) {
			sender, err := logs.NewSender("tcp://"+s.Addr("own").String(), &logs.SenderOptions{Service: "sender", Spool: logs.SpoolOff})
			if err != nil {
				t.Fatal(err)
			}
			if err := sender.Add(&logs.View{Service: []byte(service), Message: []byte(message)}); err != nil {
				t.Error(err)
			}
			if err := sender.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"Analogger": {"analogger", "analogger", func(t *testing.T, service, message string) {
			write("analogger", "tcp", frame("", "", ""), frame(service, "info", message))(t)
		}},
		"syslog by TCP": {"syslog-tcp", "syslog", func(t *testing.T, service, message string) {
			write("syslog-tcp", "tcp", "", counted(modern(service, message)))(t)
		}},
		"syslog by UDP": {"syslog-udp", "syslog", func(t *testing.T, service, message string) {
			write("syslog-udp", "udp", "", modern(service, message))(t)
		}},
		"syslog of RFC 3164": {"syslog-tcp", "syslog", func(t *testing.T, service, message string) {
			if service != "" {
				service += ": "
			}
			write("syslog-tcp", "tcp", "", counted("<14>May  4 03:02:01 host "+strings.ReplaceAll(service, "Größe 7", "Größe\u00a07")+message))(t)
		}},
		"JSON by TCP": {"json", "json", func(t *testing.T, service, message string) {
			write("json", "tcp", "", string(object(service, message)))(t)
		}},
		"JSON by HTTP": {"jsonlines", "json", func(t *testing.T, service, message string) {
			post(t, "jsonlines", "", "application/x-ndjson", object(service, message), `{"records":1}`)
		}},
		"the parameter of JSON by HTTP": {"jsonlines", "json", func(t *testing.T, service, message string) {
			query := "?service="
			for i := range len(service) {
				query += fmt.Sprintf("%%%02x", service[i])
			}
			post(t, "jsonlines", query, "application/x-ndjson", object("", message), `{"records":1}`)
		}},
		"OTLP": {"otlp", "unknown_service", func(t *testing.T, service, message string) {
			post(t, "otlp", "", "application/x-protobuf", export(t, service, message), "")
		}},
		"Loki": {"loki", "loki", func(t *testing.T, service, message string) {
			labels := "{}"
			if service != "" {
				labels = fmt.Sprintf("{service_name=%q}", service)
			}
			field := func(b []byte, number protowire.Number, data string) []byte {
				return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), data)
			}
			request := field(nil, 1, string(field(field(nil, 1, labels), 2, string(field(nil, 2, message)))))
			take(t, "loki", "/loki/api/v1/push", "application/x-protobuf", snappy.Encode(nil, request), http.StatusNoContent)
		}},
		"Elasticsearch": {"bulk", "json", func(t *testing.T, service, message string) {
			take(t, "bulk", "/_bulk", "application/x-ndjson", append([]byte("{\"create\":{}}\n"), object(service, message)...), http.StatusOK)
		}},
	}
}

// export returns a request of OTLP. The official types do not write text that is not UTF-8, so it is inserted in place of a text of the
// same length.
func export(t *testing.T, service, message string) []byte {
	t.Helper()
	text := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	place := strings.Repeat("%", len(service))
	body, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*otlppb.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: text(place)}}},
		ScopeLogs: []*otlppb.ScopeLogs{{LogRecords: []*otlppb.LogRecord{{Body: text(message)}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if service != "" {
		body = bytes.Replace(body, protowire.AppendString(nil, place), protowire.AppendString(nil, service), 1)
	}
	return body
}

// A record of a service with an invalid name is stored under the repaired name, whichever input it comes through. It keeps the original
// name in an attribute, and is counted by the reason. A record that names no service is stored under the name that its input has for
// these.
func TestServicesAreRepaired(t *testing.T) {
	byAllInputs(t, nil, func(ctx context.Context, s *server.Server, store storage.Store, all map[string]in) {
		for what, in := range all {
			for i, test := range repaired {
				if !names(what, test.name) {
					continue
				}
				t.Run(what+"/"+test.what, func(t *testing.T) {
					before := s.Stats().Inputs[in.way]
					message := fmt.Sprintf("%s %d", what, i)
					in.bring(t, test.name, message)
					want, name := test.want, test.name
					if name == "" {
						want = in.unnamed
					}
					if strings.HasPrefix(in.way, "syslog") { // in which a name has no space
						want = strings.ReplaceAll(want, " ", "\u00a0")
					}
					record := awaitRecord(t, ctx, store, want, message)
					from := ""
					for _, a := range record.Attrs {
						if a.Key == "from_service" {
							from = a.Value.String()
						}
					}
					if test.reason == "" {
						name = ""
					}
					if from != name[:len(from)] || len(from) < min(len(name), 253) || len(from) > 256 {
						t.Errorf("it came from %q, want %q", from, name)
					}
					after := s.Stats().Inputs[in.way]
					for reason, n := range after.Repaired {
						if more := n - before.Repaired[reason]; (more == 1) != (reason == test.reason) || more > 1 {
							t.Errorf("%d more are counted for %q, want it for %q", more, reason, test.reason)
						}
					}
					if after.Repaired[test.reason] == 0 && test.reason != "" || len(after.Refused) > 0 || after.Records != before.Records+1 {
						t.Errorf("got %+v after %+v", after, before)
					}
				})
			}
		}
	})
}

// byAllInputs calls f with a server that has all inputs.
func byAllInputs(t *testing.T, redact []server.Redaction, f func(ctx context.Context, s *server.Server, store storage.Store, all map[string]in)) {
	t.Helper()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{Sync: segment.OS})
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }()
		var sessions *server.Sessions
		conf := server.Config{Store: store, Redact: redact, Listeners: []server.Listener{
			{Name: "own", Address: "127.0.0.1:0", Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
				return sessions.Serve(ctx, conn, state)
			}},
			{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{}},
			{Name: "syslog-tcp", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}},
			{Name: "syslog-udp", Address: "127.0.0.1:0", Network: "udp", Protocol: &syslog.Protocol{Datagrams: true}},
			{Name: "json", Address: "127.0.0.1:0", Protocol: &jsonlines.Protocol{}},
		}}
		serve(t, conf, func(ctx context.Context, s *server.Server) {
			sessions = server.NewSessions(s.Acceptor(), server.SessionConfig{})
			batchers := func(way string) func(*http.Request) input.Batcher {
				return func(*http.Request) input.Batcher { return s.Batcher(way) }
			}
			posts := map[string]http.Handler{"jsonlines": jsonlines.Handler(batchers("jsonlines"), jsonlines.Config{}), "otlp": otlp.Handler(batchers("otlp")), "loki": loki.Handler(batchers("loki")), "bulk": jsonlines.BulkHandler(batchers("bulk"))}
			f(ctx, s, store, inputs(s, posts))
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// awaitRecord waits for a record of a service with a message.
func awaitRecord(t *testing.T, ctx context.Context, store storage.Store, service, message string) (found logs.Record) {
	t.Helper()
	until(t, ctx, fmt.Sprintf("%q is stored as one of %q", message, service), func() bool {
		for r, err := range store.Read(ctx, service, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Message == message {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

// Routes, limits and counters use the repaired name, too, and a record that is too long keeps the original name.
func TestRepairedServiceOfALongRecord(t *testing.T) {
	path := t.TempDir() + "/{service}.log"
	serve(t, server.Config{Routes: toFile(path), MaxRecord: 100}, func(ctx context.Context, s *server.Server) {
		f := s.Batcher("test")
		v := logs.View{Service: []byte("a\nb"), Message: bytes.Repeat([]byte("x"), 200), Level: slog.LevelInfo, Time: time.Now().UnixNano()}
		v.AddText([]byte("long"), bytes.Repeat([]byte("y"), 200))
		f.Add(&v)
		if err := f.Sync(ctx); err != nil {
			t.Error(err)
		}
		if got := s.Stats().Services["a_b"]; got.Records != 1 || got.Cut != 1 {
			t.Errorf("got %+v", got)
		}
	})
	equal(t, "lines", lines(t, strings.ReplaceAll(path, "{service}", "a_b")), "a_b|info|"+strings.Repeat("x", 100)+` [cut: 308 bytes more] from_service=a\nb`)
}
