package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/engine"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestMain runs as a worker process when the demo starts it as one.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"demo", "--worker"}) {
		if err := runWorker(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newDemo returns a demo with n documents, and its output. before is called with each request to the engine.
func newDemo(t *testing.T, n int, latency time.Duration, before func(*http.Request)) (*demo, *bytes.Buffer) {
	t.Helper()
	all, err := corpus.Documents()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "jobs.db")
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	search := engine.New(engine.Config{Folder: folder, Latency: latency})
	counted := &gauge{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before(r)
		}
		http.StripPrefix("/engine", search).ServeHTTP(w, r)
	})}
	server := httptest.NewUnstartedServer(counted)
	// Requests end with the test: a server does not notice that a client has disconnected before it has read the body.
	server.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	server.Start()
	printed := new(bytes.Buffer)
	d := &demo{
		file: file, documents: spread(all, n), latency: latency, console: console{printed, io.Discard, false}, store: store,
		engine: counted, client: newClient(server.Listener.Addr().String(), latency),
	}
	t.Cleanup(func() {
		d.client.close()
		server.Close()
		if err := errors.Join(search.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, printed
}

// versions returns how often each document was written to an index.
func (d *demo) versions(t *testing.T, index string) map[string]int {
	t.Helper()
	versions := map[string]int{}
	for _, document := range d.documents {
		path := index + "/_doc/" + strings.ReplaceAll(document.ID(), "/", "%2F")
		var answer struct {
			Version int             `json:"_version"`
			Source  json.RawMessage `json:"_source"`
		}
		if err := d.client.do(t.Context(), http.MethodGet, path, nil, &answer); err != nil {
			if !strings.Contains(err.Error(), "404") {
				t.Fatal(err)
			}
			continue
		}
		var got corpus.Document
		if err := json.Unmarshal(answer.Source, &got); err != nil || got != document {
			t.Errorf("%s: got %+v, %v, want %+v", path, got, err, document)
		}
		versions[document.ID()] = answer.Version
	}
	return versions
}

// TestShow indexes a few documents in all three ways: each way indexes each document exactly once.
func TestShow(t *testing.T) {
	t.Parallel()
	d, printed := newDemo(t, 30, time.Millisecond, nil)
	if err := meanwhile.Run(t.Context(), d.compare); err != nil {
		t.Fatal(err)
	}
	for _, w := range d.variants() {
		versions := d.versions(t, w.index)
		if len(versions) != 30 {
			t.Errorf("%s: got %d documents, want 30", w.name, len(versions))
		}
		for id, version := range versions {
			if version != 1 {
				t.Errorf("%s: %s was indexed %d times", w.name, id, version)
			}
		}
		if n, err := d.client.count(t.Context(), w.index); n != 30 || err != nil {
			t.Errorf("%s: got count %d, %v", w.name, n, err)
		}
	}
	text := printed.String()
	for _, want := range []string{"30 doc comments", "one by one    30 documents in ", ", up to 1 at once\n", "1,000 tasks       30 "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "~") {
		t.Errorf("all values were measured, but some are marked as extrapolated:\n%s", text)
	}
	checkWidth(t, text)
}

// TestPart indexes only a part in the slow ways: the part has the requested size, the table says so, and no job is left.
func TestPart(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	d, printed := newDemo(t, 200, 0, nil)
	if err := meanwhile.Run(t.Context(), d.compare); err != nil {
		t.Fatal(err)
	}
	for index, want := range map[string][2]int{"go-by-1": {40, 40}, "go-by-3": {120, 199}, "go": {200, 200}} {
		if got := len(d.versions(t, index)); got < want[0] || got > want[1] {
			t.Errorf("%s: got %d documents, want %v", index, got, want)
		}
	}
	counts, err := d.store.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.State != job.Completed {
			t.Errorf("got %+v, want completed jobs only", c)
		}
	}
	if !strings.Contains(printed.String(), "\n~ extrapolated to 200 documents, from 40 (one by one) and 120 (3 workers).\n") {
		t.Errorf("the table does not mark extrapolated values:\n%s", printed)
	}
	checkWidth(t, printed.String())
}

// TestSizes compares three sizes, the smallest first, and measures only the worker process.
func TestSizes(t *testing.T) {
	t.Parallel()
	d, printed := newDemo(t, 1, time.Millisecond, nil)
	all, err := corpus.Documents()
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error { return d.show(ctx, all, []int{30, 3, 10, 3}) })
	if err != nil {
		t.Fatal(err)
	}
	text := printed.String()
	for _, size := range []string{"\n3 doc comments of", "\n10 doc comments of", "\n30 doc comments of", "\nfinds "} {
		before, after, ok := strings.Cut(text, size)
		if !ok {
			t.Fatalf("%q is not at its place, after\n%s", size, before)
		}
		text = after
	}
	if runtime.GOOS == "linux" && !regexp.MustCompile(`(?m)^1,000 tasks +30 .* \d+-\d+ MB +\d`).MatchString(printed.String()) {
		t.Errorf("the memory of the worker is not in the table:\n%s", printed)
	}
	checkWidth(t, printed.String())
}

// TestWorkerFails: the demo fails when a worker process cannot do its work, and reports why.
func TestWorkerFails(t *testing.T) {
	d, _ := newDemo(t, 1, 0, nil)
	d.file = filepath.Join(t.TempDir(), "none", "jobs.db")
	_, err := d.workApart(t.Context(), d.variants()[2], func(int) {})
	if err == nil || !strings.Contains(err.Error(), "worker process: ") || !strings.Contains(err.Error(), "none does not exist") {
		t.Errorf("got %v", err)
	}
}

// TestWorkerEndsWithTheDemo closes the input of a worker, as happens when the demo ends.
func TestWorkerEndsWithTheDemo(t *testing.T) {
	d, _ := newDemo(t, 5, time.Hour, nil)
	var in bytes.Buffer
	w := d.variants()[0]
	if err := json.NewEncoder(&in).Encode(workload{Engine: d.client.address, Latency: time.Hour, Of: 5, Index: w.index, Part: w.part}); err != nil {
		t.Fatal(err)
	}
	if err := runWorker(t.Context(), &in, io.Discard); err == nil || !strings.Contains(err.Error(), "the demo has ended") {
		t.Errorf("got %v", err)
	}
}

func checkWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(line) > 80 { // including the line end
			t.Errorf("a line has %d columns: %s", len(line)-1, line)
		}
	}
}

// TestMissing: the demo fails if a document is missing in the end.
func TestMissing(t *testing.T) {
	d, _ := newDemo(t, 5, 0, nil)
	if err := d.client.create(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	w := d.variants()[2]
	if err := d.client.put(t.Context(), w.index, d.documents[0]); err != nil {
		t.Fatal(err)
	}
	if err := d.check(t.Context(), w); err == nil || err.Error() != "1 document in the index, want 5" {
		t.Errorf("got %v", err)
	}
}

// A canceler cancels when a text is written to it.
type canceler struct {
	text   string
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	printed bytes.Buffer
}

var errEnough = errors.New("enough")

func (c *canceler) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.printed.Write(p)
	if strings.Contains(string(p), c.text) {
		c.cancel(errEnough)
	}
	return len(p), nil
}

var interruptedLine = regexp.MustCompile(`\nInterrupted\. \S*meanwhile-demo-\d+ is removed\.\n$`)

// TestInterrupted stops the command in the middle, and after its table. Its folder is removed, and no other folder.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		text    string
		latency time.Duration
		want    error
	}{
		{"The search engine, at", 10 * time.Second, errEnough},
		{"one by one    5 documents", 0, errEnough},
		{"Ctrl-C stops the demo", 0, nil},
	} {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		t.Setenv("TMP", temporary)
		left := filepath.Join(temporary, "meanwhile-demo-1", "jobs.db") // left by a run that was killed
		if err := os.MkdirAll(left, 0o777); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		out := &canceler{text: test.text, cancel: cancel}
		c := Command{Listen: "127.0.0.1:0", Documents: []int{5}, Latency: test.latency}
		err := meanwhile.Run(ctx, func(ctx context.Context) error { return c.run(ctx, probe.Streams{Out: out, Err: io.Discard}) })
		cancel(nil)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: got %v, want %v\n%s", test.text, err, test.want, &out.printed)
		}
		if !interruptedLine.Match(out.printed.Bytes()) {
			t.Errorf("%s: the output does not end with a report about the folder:\n%s", test.text, &out.printed)
		}
		if names := folders(t, temporary); len(names) != 1 || names[0] != "meanwhile-demo-1" {
			t.Errorf("%s: got folders %q", test.text, names)
		}
	}
}

func folders(t *testing.T, in string) []string {
	t.Helper()
	entries, err := os.ReadDir(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestPortTaken(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	c := Command{Listen: address, Documents: []int{5}, Exit: true}
	err = c.run(t.Context(), probe.Streams{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.HasPrefix(err.Error(), "--listen: "+address+": ") || !strings.HasSuffix(err.Error(), ": leave the flag out for a free port") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if names := folders(t, temporary); len(names) != 0 {
		t.Errorf("got folders %q", names)
	}
}

func TestCheck(t *testing.T) {
	sound := Command{Listen: "127.0.0.1:0", Documents: []int{1000}, Latency: 50 * time.Millisecond}
	for _, listen := range []string{"127.0.0.1:0", "localhost:8080", "[::1]:80", "127.9.9.9:1"} {
		c := sound
		c.Listen = listen
		if err := c.check(); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
	for want, change := range map[string]func(*Command){
		"--latency: -1ns: give a time from 0s to 10s": func(c *Command) { c.Latency = -1 },
		"--latency: 1m0s: give a time":                func(c *Command) { c.Latency = time.Minute },
		`--listen: "x" is not an address`:             func(c *Command) { c.Listen = "x" },
		`--listen: ":80" can be reached by others`:    func(c *Command) { c.Listen = ":80" },
		`--listen: "0.0.0.0:80" can be reached`:       func(c *Command) { c.Listen = "0.0.0.0:80" },
		`--listen: "[::]:80" can be reached`:          func(c *Command) { c.Listen = "[::]:80" },
		`--listen: "example.com:80" can be reached`:   func(c *Command) { c.Listen = "example.com:80" },
	} {
		c := sound
		change(&c)
		if err := c.check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReadSizes(t *testing.T) {
	for text, want := range map[string]string{
		"1": "[1]", "10, 1000": "[10 1000]",
		"10,0": `"0" is not a number from 1 to 1000`, "1001,1": `"1001" is not a number from 1 to 1000`, "": `"" is not a number from 1 to 1000`,
	} {
		var s sizes
		got := s.UnmarshalText([]byte(text))
		if fmt.Sprint(got) != want && (got != nil || fmt.Sprint(s) != want) {
			t.Errorf("%q: got %v, %v, want %s", text, s, got, want)
		}
	}
}

// TestServe sends requests to the demo's server, with its own host name and with another one.
func TestServe(t *testing.T) {
	d, _ := newDemo(t, 1, 0, nil)
	d.engine = &gauge{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		d.serve(ctx, listener)
		for _, test := range []struct {
			host, origin, want string
			status             int
		}{
			{"", "", "/go/_count", 200},
			{"localhost:80", "", "/go/_count", 200},
			{"evil.example", "", "loopback", 403},
			{"", "http://evil.example", "cross-origin", 403},
			{"", "", "<title>", 200},
		} {
			method, path := http.MethodPost, "/engine/go/_count"
			if test.want == "<title>" {
				method, path = http.MethodGet, "/"
			}
			request, err := http.NewRequestWithContext(ctx, method, "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				return err
			}
			request.Host = test.host
			if test.origin != "" {
				request.Header.Set("Origin", test.origin)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != test.status || !strings.Contains(string(text), test.want) {
				t.Errorf("%+v: got %d %s, %v", test, response.StatusCode, text, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the server answers after the end of its scope")
	}
}

// TestLimitedBuffer: however much a worker process prints to standard error, all of it is read, and only the start is kept.
func TestLimitedBuffer(t *testing.T) {
	var notes limitedBuffer
	n, err := io.Copy(&notes, strings.NewReader("first"+strings.Repeat("x", 1<<20)))
	if got := notes.Bytes(); err != nil || n != 1<<20+5 || len(got) != maxNotes || !bytes.HasPrefix(got, []byte("first")) {
		t.Errorf("wrote %d bytes, %v, and kept %d", n, err, len(got))
	}
}
