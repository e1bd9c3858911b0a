package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

func serve(t *testing.T, h http.Handler, c Config) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := NewClient(server.URL, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, server
}

func query(t *testing.T, match string) storage.Query {
	t.Helper()
	f, err := filter.Parse(match)
	if err != nil {
		t.Fatal(err)
	}
	return storage.Query{Filter: f}
}

func someRecords(n int) (records []logs.Record) {
	for i := range n {
		records = append(records, logs.Record{
			Time: time.Unix(int64(i), 5).UTC(), Level: slog.LevelInfo, Service: []string{"api", "web"}[i%2], Message: fmt.Sprintf("record %d", i),
			Attrs: []slog.Attr{slog.Int("i", i), slog.String("text", "x\ny")},
		})
	}
	return records
}

// TestFindIsTheFinders: a client finds the records that the finder of the server finds.
func TestFindIsTheFinders(t *testing.T) {
	s := newShelf()
	s.add(someRecords(3000)...)
	client, _ := serve(t, Handler(s, nil), Config{})
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	tests := map[string]storage.Query{
		"all": {}, "filter": query(t, `service=api i>=100 "record 200" or -i<2990`), "none": query(t, "missing"),
		"since": {Since: at(2990)}, "until": {Until: at(7)}, "limit": {Limit: 3}, "newest": {Limit: 3, Newest: true},
	}
	for name, q := range tests {
		t.Run(name, func(t *testing.T) {
			want, _ := meanwhile.Collect(s.Find(t.Context(), q))
			got, err := meanwhile.Collect(client.Find(t.Context(), q))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %d records, %v, want %d: %.300v", len(got), err, len(want), got)
			}
			n := 0
			for text, err := range client.FindJSON(t.Context(), q) {
				if err != nil || n >= len(want) || string(text) != string(want[n].AppendJSON(nil)) {
					t.Fatalf("text %d is %s, %v", n, text, err)
				}
				n++
			}
			if n != len(want) {
				t.Errorf("got %d texts, want %d", n, len(want))
			}
		})
	}
}

// TestCountByIsTheFinders: CountBy of a client returns the counts of the finder of the server.
func TestCountByIsTheFinders(t *testing.T) {
	s := newShelf()
	s.add(someRecords(300)...)
	client, _ := serve(t, Handler(s, nil), Config{})
	for _, by := range [][]string{nil, {"service"}, {"level", "text"}} {
		want, _ := storage.CountBy(t.Context(), s, query(t, "i>9"), by, time.Minute)
		got, err := client.CountBy(t.Context(), query(t, "i>9"), by, time.Minute)
		if err != nil || got.Records != 290 || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := client.CountBy(t.Context(), storage.Query{}, []string{"time"}, 0); err == nil || !strings.Contains(err.Error(), "each time is another one") {
		t.Errorf("by the time: %v", err)
	}
}

// TestFindJSONIsSafe: FindJSON yields no line that is unsafe for a terminal or is not a record.
func TestFindJSONIsSafe(t *testing.T) {
	for _, line := range []string{"{\"time\":\"\x1b[2J\"}", "{\"time\":\"\u202e\"}", "{\"time\":\"\xff\"}", "{\"time\":", "{\"time\":\"x\"} {}", "{}"} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, line+"\n"+`{"end":{"records":1}}`) })
		client, _ := serve(t, h, Config{})
		for text, err := range client.FindJSON(t.Context(), storage.Query{}) {
			if err == nil {
				t.Errorf("%q: got %q, want an error", line, text)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	s := newShelf()
	s.add(someRecords(4)...)
	client, _ := serve(t, Handler(s, func() any { return map[string]int{"connections": 7} }), Config{})
	services, err := client.Services(t.Context())
	if want, _ := s.Services(t.Context()); err != nil || !reflect.DeepEqual(services, want) {
		t.Errorf("services: got %v, %v, want %v", services, err, want)
	}
	q := storage.Query{Since: time.Unix(1, 0).UTC(), Until: time.Unix(9, 0).UTC()}
	h, err := client.Histogram(t.Context(), q, 4)
	if want, _ := s.Histogram(t.Context(), q, 4); err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("histogram: got %v, %v, want %v", h, err, want)
	}
	if h, err := client.Histogram(t.Context(), storage.Query{}, 1); err != nil || h.Until.Sub(h.Since) != 24*time.Hour {
		t.Errorf("histogram of a day: got %v, %v", h, err)
	}
	stats, err := client.Stats(t.Context())
	if err != nil || string(stats) != `{"connections":7}` {
		t.Errorf("stats: got %s, %v", stats, err)
	}
}

// TestBrokenAnswers: an incomplete answer ends with an error, after its records.
func TestBrokenAnswers(t *testing.T) {
	record := `{"time":"2026-05-04T00:00:00Z","level":"INFO","service":"api","message":"m"}` + "\n"
	tests := map[string]struct{ answer, want string }{
		"cut":           {record, "the answer was cut"},
		"cut in a line": {record + `{"time":"2026`, "not that of a log server"},
		"counted":       {record + `{"end":{"records":2}}` + "\n", "makes no sense"},
		"said":          {record + `{"error":"the disk is gone"}` + "\n", "the disk is gone"},
		"another":       {record + "<html>\n", "not that of a log server"},
		"too long":      {record + strings.Repeat("x", maxLine+1), "token too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.answer)) }), Config{})
			got, failed := 0, error(nil)
			for _, err := range client.Find(t.Context(), storage.Query{}) {
				if failed = err; err == nil {
					got++
				}
			}
			if got != 1 || failed == nil || !strings.Contains(failed.Error(), test.want) {
				t.Errorf("got %d records, %v, want %s", got, failed, test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	var paths []string
	client, server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch {
		case len(paths) == 1:
			w.WriteHeader(http.StatusUnauthorized)
		case len(paths) == 2:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case len(paths) == 3:
			http.NotFound(w, r)
		default:
			Handler(newShelf(), nil).ServeHTTP(w, r)
		}
	}), Config{Token: "secret"})
	for _, want := range []string{"requires a token", "Found (302)", "nothing serves logs there", "no statistics"} {
		if _, err := client.Stats(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, path := range paths {
		if path != "/logs/stats Bearer secret" {
			t.Errorf("got a request of %s", path)
		}
	}
	server.Close()
	client, server = serve(t, Handler(nil, func() any { return 7 }), Config{})
	if stats, err := client.Stats(t.Context()); string(stats) != "7" || err != nil {
		t.Errorf("stats of a server without a store: got %s, %v", stats, err)
	}
	if _, err := client.Services(t.Context()); err == nil || !strings.Contains(err.Error(), "keeps no records") {
		t.Errorf("services of a server without a store: got %v", err)
	}
	server.Close()
	for _, err := range client.Follow(t.Context(), storage.Query{}) {
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v from a server that is closed", err)
		}
	}
}

func TestSilenceEnds(t *testing.T) {
	client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), Config{Timeout: 50 * time.Millisecond})
	for _, err := range client.Find(t.Context(), storage.Query{}) {
		if err == nil || !strings.Contains(err.Error(), "no byte came for 50ms") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCanceledByItsReader(t *testing.T) {
	gone := errors.New("gone")
	client, _ := serve(t, Handler(newShelf(), nil), Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for _, err := range client.Find(ctx, storage.Query{}) {
		if !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}
}

// TestOtherProtocols: the error for a port with another protocol differs from that of a server that fails.
func TestOtherProtocols(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	answering := func(text string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}
		}()
		return l.Addr().String()
	}
	other := answering("R no protocol of yours\n")
	for address, want := range map[string]string{
		secure.Listener.Addr().String(): "give https://",
		other:                           "speaks no HTTP",
		"https://" + other:              "what listens there speaks no TLS: give http://, or the address of the server's HTTP",
		answering(""):                   "what listens there closed the connection without a response: give the address of the server's HTTP, unless the server was just ending (EOF)",
	} {
		client, err := NewClient(address, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Services(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"localhost:6768": "http://localhost:6768", "https://logs.example": "https://logs.example", "http://proxy/deep": "http://proxy/deep",
		"ftp://x": "", "http://": "", "http://me:secret@host": "", "http://x?y": "", "http://[": "",
		"http://me:secret%@host": "", "http://me:secret#@host": "", "http://me:secret/x@host": "", "ftp://me:secret@host": "", "me:secret@host": "",
	} {
		c, err := NewClient(address, Config{})
		if (err == nil) != (want != "") || err == nil && c.String() != want || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v", address, c, err)
		}
	}
}
