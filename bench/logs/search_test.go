package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// searched returns how many records are searched: 2 million, 20 million with MEANWHILE_BENCH_LOGS=full, and 100,000 with -short.
// MEANWHILE_BENCH_LOGS_DIR is a folder in which the stores are kept and reused; MEANWHILE_VICTORIALOGS is the program victoria-logs, which is skipped
// without it.
func searched() int {
	if testing.Short() {
		return 100_000
	}
	return size(20_000_000, 2_000_000)
}

const (
	accessServices = 4
	accessBatch    = 1000
)

// accessLog generates an access log of servers, 178 bytes a record in our encoding: a message from one of several templates, and
// attributes, two of which differ in each record. It always generates the same records.
type accessLog struct {
	random *rand.Rand
	at     int64 // nanoseconds
	n      int
	of     int
}

// accessBegin is the time of the first record: late enough that it is not deleted as old.
var accessBegin = time.Now().Add(-24 * time.Hour).Truncate(time.Hour)

func newAccessLog(of int) *accessLog {
	return &accessLog{random: rand.New(rand.NewPCG(17, 4)), at: accessBegin.UnixNano(), of: of}
}

var (
	accessMethods  = []string{"GET", "GET", "GET", "GET", "POST", "PUT", "DELETE"}
	accessPaths    = []string{"/api/v1/users/%d/sessions", "/api/v1/users/%d/profile", "/api/v1/orders/%d/items", "/api/v1/carts/%d/checkout", "/static/img/%d/preview.webp"}
	accessMessages = []string{"request completed by the upstream", "request completed from the cache", "request completed after redirect"}
	accessFailures = []string{"request failed: upstream closed the connection", "request failed: deadline of upstream exceeded"}
	accessHosts    = []string{"web-1.eu-west.test", "web-2.eu-west.test", "web-3.us-east.test", "web-4.us-east.test"}
)

// An access is a record.
type access struct {
	service                                int
	at                                     int64
	level                                  slog.Level
	message, method, path, host, requestID string
	status, bytes                          int
	took                                   time.Duration
}

// next returns the next record; the one in the middle contains a unique word.
func (l *accessLog) next() (a access) {
	r := l.random
	l.at += int64(r.ExpFloat64() * 4_000_000)
	a = access{
		service: r.IntN(accessServices), at: l.at, method: accessMethods[r.IntN(len(accessMethods))], host: accessHosts[r.IntN(len(accessHosts))],
		path: fmt.Sprintf(accessPaths[r.IntN(len(accessPaths))], r.IntN(1_000_000)), message: accessMessages[r.IntN(len(accessMessages))],
		status: 200, bytes: 200 + r.IntN(40_000), requestID: fmt.Sprintf("%016x", r.Uint64()), took: time.Duration(3e6 * math.Exp(1.2*r.NormFloat64())),
	}
	switch n := r.IntN(1000); {
	case n < 2:
		a.level, a.status, a.message = slog.LevelError, 500+r.IntN(5), accessFailures[r.IntN(len(accessFailures))]
		a.took *= 20
	case n < 30:
		a.level, a.status = slog.LevelWarn, 404
	case n < 100:
		a.status = 302
	}
	if l.n++; l.n == l.of/2 {
		a.message += " needle4711"
	}
	return a
}

func (a *access) view() logs.View {
	v := logs.View{Time: a.at, Level: a.level, Message: []byte(a.message)}
	for _, attr := range []slog.Attr{
		slog.String("method", a.method), slog.String("path", a.path), slog.Int("status", a.status), slog.Int("bytes", a.bytes),
		slog.Duration("took", a.took), slog.String("host", a.host), slog.String("request_id", a.requestID),
	} {
		v.AddAttr(attr)
	}
	return v
}

func accessService(n int) string { return "edge-" + strconv.Itoa(n) }

// A searchEngine is a server with the records of an access log.
type searchEngine struct {
	lib  string
	fill func(tb testing.TB, folder string, records int)
	// serve starts the server, and returns a function that returns the address of a query for matching records.
	serve func(tb testing.TB, folder string) (*process, func(query searchQuery) string)
}

// A searchQuery is a query that finds the same records in both.
type searchQuery struct {
	name            string
	ours, victorias string
}

var searchQueries = []searchQuery{
	{"word", "needle4711", "needle4711"},
	{"value", "request_id=%s", "request_id:=%s"},
	{"range", "took>500ms", "took:>500000000"},
	{"regexp", `path~users/(77|88)77[0-9][0-9]/sess`, `path:~"users/(77|88)77[0-9][0-9]/sess"`},
	{"status", "status>=504", "status:>=504"},
	{"failed", "level>=error", "level:=ERROR"},
}

// BenchmarkSearch asks a server of ours, and one of VictoriaLogs, for records of an access log over HTTP. Each has all records in its
// folder, compressed as it compresses them by itself.
func BenchmarkSearch(b *testing.B) {
	n := searched()
	engines := []searchEngine{{"meanwhile", fillMeanwhile, serveMeanwhile}, {"victorialogs", fillVictoria, serveVictoria}}
	counts := map[string]int{}
	for _, e := range engines {
		b.Run("lib="+e.lib, func(b *testing.B) {
			folder := kept(b, e.lib, n)
			if _, err := os.Stat(filepath.Join(folder, "filled")); errors.Is(err, fs.ErrNotExist) {
				e.fill(b, folder, n)
				write(b, folder, "filled", "")
			}
			bytes := folderSize(b, folder)
			p, address := e.serve(b, folder)
			id := requestID(n)
			for _, q := range searchQueries {
				if strings.Contains(q.ours, "%s") {
					q.ours, q.victorias = fmt.Sprintf(q.ours, id), fmt.Sprintf(q.victorias, id)
				}
				b.Run("query="+q.name, func(b *testing.B) {
					before := p.usage(b)
					found := 0
					for b.Loop() {
						found = ask(b, address(q))
					}
					after := p.usage(b)
					if want, ok := counts[q.name]; ok && want != found {
						b.Errorf("%s finds %d records, another %d", e.lib, found, want)
					}
					counts[q.name] = found
					b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
					b.ReportMetric(0, "ns/op")
					b.ReportMetric((after.cpu-before.cpu).Seconds()/float64(b.N), "CPU-s")
					b.ReportMetric(float64(found), "found")
					b.ReportMetric(float64(after.peak)/1e6, "peak-MB")
					b.ReportMetric(float64(bytes)/float64(n), "B/record")
				})
			}
			if e.lib == "meanwhile" {
				b.Run("query=find-json", func(b *testing.B) { findJSON(b, p, address(searchQuery{})) })
			}
		})
	}
}

// findJSON measures the processor time of the command that prints records as JSON, and that of the server that sends them.
func findJSON(b *testing.B, server *process, address string) {
	program, err := buildMeanwhile()
	if err != nil {
		b.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	var own time.Duration
	lines := 0
	before := server.usage(b)
	for b.Loop() {
		cmd := exec.Command(program, "logs", "find", "--server", "http://"+u.Host, "--json", "--limit=0", "level>=warn")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines = countLines(b, out)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		own += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	after := server.usage(b)
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric((after.cpu-before.cpu).Seconds()/float64(b.N), "CPU-s")
	b.ReportMetric(own.Seconds()/float64(b.N), "client-CPU-s")
	b.ReportMetric(float64(lines), "found")
}

// requestID returns the request ID of a record in the first third.
func requestID(records int) string {
	l := newAccessLog(records)
	for range records / 3 {
		l.next()
	}
	a := l.next()
	return a.requestID
}

// kept returns the folder of a store, which is kept if MEANWHILE_BENCH_LOGS_DIR is set.
func kept(tb testing.TB, lib string, records int) string {
	tb.Helper()
	folder := os.Getenv("MEANWHILE_BENCH_LOGS_DIR")
	if folder == "" {
		return tb.TempDir()
	}
	folder = filepath.Join(folder, fmt.Sprintf("%s-%d", lib, records))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	return folder
}

func folderSize(tb testing.TB, folder string) (size int64) {
	tb.Helper()
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return size
}

// ask returns how many records a server sends.
func ask(tb testing.TB, address string) int {
	tb.Helper()
	response, err := http.Get(address)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		tb.Fatalf("%s: %s: %s", address, response.Status, text)
	}
	return countLines(tb, response.Body)
}

// countLines counts lines with records.
func countLines(tb testing.TB, r io.Reader) (n int) {
	tb.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text := lines.Bytes(); bytes.Contains(text, []byte(`"request_id"`)) {
			n++
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return n
}

// fillMeanwhile fills a store and leaves it as a server does that is then idle for a while.
func fillMeanwhile(tb testing.TB, folder string, records int) {
	tb.Helper()
	err := meanwhile.Run(tb.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, filepath.Join(folder, "store"), segment.Config{Bytes: -1, JournalAge: 2 * time.Second, Sync: segment.OS})
		if err != nil {
			return err
		}
		l := newAccessLog(records)
		var encoded int64
		batches := make([]*logs.Batch, accessServices)
		for i := range batches {
			batches[i] = &logs.Batch{Service: accessService(i)}
		}
		for i := range records {
			a := l.next()
			v := a.view()
			b := batches[a.service]
			b.Add(&v)
			if b.Count < accessBatch && i < records-accessServices {
				continue
			}
			encoded += int64(len(b.Data))
			if err := store.Append(ctx, b); err != nil {
				return err
			}
			*b = logs.Batch{Service: b.Service, Data: b.Data[:0]}
		}
		for _, b := range batches {
			encoded += int64(len(b.Data))
			if err := store.Append(ctx, b); err != nil {
				return err
			}
		}
		tb.Logf("%d bytes a record as they are encoded", encoded/int64(records))
		for last, since := -1, time.Now(); time.Since(since) < 6*time.Second; time.Sleep(time.Second) {
			stats, err := store.Services(ctx)
			if err != nil {
				return err
			}
			segments := 0
			for _, s := range stats {
				segments += s.Segments
			}
			if segments != last {
				last, since = segments, time.Now()
			}
		}
		return store.Close()
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func serveMeanwhile(tb testing.TB, folder string) (*process, func(searchQuery) string) {
	tb.Helper()
	program, err := buildMeanwhile()
	if err != nil {
		tb.Fatal(err)
	}
	address := at(freePort(tb))
	cmd := exec.Command(program, "logs", "serve", "--listen=", "--analogger=", "--http", address, "--dir", filepath.Join(folder, "store"))
	cmd.Dir = folder
	return start(tb, address, cmd), func(q searchQuery) string {
		return "http://" + address + "/logs/find?" + url.Values{"filter": {q.ours}}.Encode()
	}
}

func victoriaProgram(tb testing.TB) string {
	tb.Helper()
	program := os.Getenv("MEANWHILE_VICTORIALOGS")
	if program == "" {
		tb.Skip("MEANWHILE_VICTORIALOGS does not name the program victoria-logs")
	}
	return program
}

func startVictoria(tb testing.TB, folder string) (p *process, host string) {
	tb.Helper()
	host = at(freePort(tb))
	cmd := exec.Command(victoriaProgram(tb), "-storageDataPath", filepath.Join(folder, "store"), "-httpListenAddr", host, "-retentionPeriod=10y", "-loggerLevel=ERROR")
	return start(tb, host, cmd), host
}

// fillVictoria sends the records as lines of JSON, on as many connections as there are processors.
func fillVictoria(tb testing.TB, folder string, records int) {
	tb.Helper()
	p, host := startVictoria(tb, folder)
	bodies := make(chan []byte, 4)
	var senders sync.WaitGroup
	for range 2 {
		senders.Go(func() {
			for body := range bodies {
				response, err := http.Post("http://"+host+"/insert/jsonline?_stream_fields=service&_time_field=time&_msg_field=message", "application/stream+json", bytes.NewReader(body))
				if err != nil {
					tb.Error(err)
					continue
				}
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					tb.Error(response.Status)
				}
			}
		})
	}
	l := newAccessLog(records)
	var body []byte
	for i := range records {
		a := l.next()
		body = fmt.Appendf(body, `{"time":%q,"level":%q,"service":%q,"message":%q,"method":%q,"path":%q,"status":%d,"bytes":%d,"took":%d,"host":%q,"request_id":%q}`+"\n",
			time.Unix(0, a.at).UTC().Format(time.RFC3339Nano), a.level.String(), accessService(a.service), a.message, a.method, a.path, a.status, a.bytes, int64(a.took), a.host, a.requestID)
		if len(body) > 4<<20 || i == records-1 {
			bodies <- body
			body = nil
		}
	}
	close(bodies)
	senders.Wait()
	for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
		ask(tb, "http://"+host+path)
	}
	for last, since := int64(-1), time.Now(); time.Since(since) < 15*time.Second; time.Sleep(time.Second) {
		if size := folderSize(tb, folder); size != last {
			last, since = size, time.Now()
		}
	}
	p.stop(tb)
}

func serveVictoria(tb testing.TB, folder string) (*process, func(searchQuery) string) {
	tb.Helper()
	p, host := startVictoria(tb, folder)
	return p, func(q searchQuery) string {
		return "http://" + host + "/select/logsql/query?" + url.Values{"query": {q.victorias}}.Encode()
	}
}
