package logs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

// A server receives messages in some formats and writes them to a file.
type server struct {
	lib     string // its name in the names of benchmarks
	own     bool   // part of this repository: it must exist
	formats []load.Format
	find    func() (program string, err error)
	// start starts the server with a folder of its own; the server writes to the file app.log in it.
	start func(tb testing.TB, program, folder string, f load.Format, port int) *process
}

// program returns the path of the server, or skips the test.
func (s server) program(tb testing.TB) string {
	tb.Helper()
	program, err := s.find()
	if err != nil && s.own {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skip(err)
	}
	return program
}

var servers = []server{ours, bare, rsyslog, syslogNG}

const outcome = "app.log"

// idle is how long a file may stay unchanged before the missing messages count as lost.
const idle = 5 * time.Second

// A result is the result of sending a load to a server.
type result struct {
	took  time.Duration // from the first byte sent to the last in the file
	cpu   time.Duration
	peak  int64
	tally load.Tally
}

// run starts the server, sends it a load and waits until its file has all of it.
func (s server) run(tb testing.TB, program string, l load.Load) (r result) {
	tb.Helper()
	folder := tb.TempDir()
	defer os.Remove(filepath.Join(folder, outcome)) // it is large; a folder in use is removed only at the end
	port := freePort(tb)
	l.Address = at(port)
	p := s.start(tb, program, folder, l.Format, port)
	before := p.usage(tb)
	begun := time.Now()
	if err := l.Send(tb.Context()); err != nil {
		tb.Fatalf("%v: %s", err, p.said())
	}
	ended := grown(tb, filepath.Join(folder, outcome), l.Messages)
	after := p.usage(tb)
	r = result{took: ended.Sub(begun), cpu: after.cpu - before.cpu, peak: after.peak}
	p.stop(tb)
	var err error
	if r.tally, err = l.Count(filepath.Join(folder, outcome)); err != nil {
		tb.Fatalf("%v: %s", err, p.said())
	}
	return r
}

// grown waits until a file has the number of lines, all as long as the first one, or has stopped growing. It returns when it last
// grew.
func grown(tb testing.TB, name string, lines int) (last time.Time) {
	tb.Helper()
	want, size := int64(-1), int64(0)
	for last = time.Now(); ; time.Sleep(time.Millisecond) {
		now := time.Now()
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist): // the file does not exist yet
		case err != nil:
			tb.Fatal(err)
		case info.Size() > size:
			size, last = info.Size(), now
		}
		if want < 0 && size > 0 {
			want = int64(lines) * firstLine(tb, name)
		}
		if want > 0 && size >= want || now.Sub(last) > idle {
			return last
		}
	}
}

// firstLine returns the length of the first line of a file, or a negative number if it is not complete yet.
func firstLine(tb testing.TB, name string) int64 {
	tb.Helper()
	file, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	part := make([]byte, 1024)
	n, _ := file.Read(part)
	for i, c := range part[:n] {
		if c == '\n' {
			return int64(i + 1)
		}
	}
	return -1
}

// size returns full for a real measurement, or few to test that it works.
func size(full, few int) int {
	if os.Getenv("MEANWHILE_BENCH_LOGS") == "full" {
		return full
	}
	return few
}
