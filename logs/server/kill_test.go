//go:build unix

package server

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/process"
)

// TestRole is not a test: it is run by processes that tests start and kill.
func TestRole(t *testing.T) {
	role := testenv.RoleArgs()
	if len(role) == 0 {
		t.Skip("a part of other tests")
	}
	switch role[0] {
	case "files":
		filesRole(role[1], role[2])
	case "logger":
		loggerRole(role[1], role[2], role[3])
	}
	os.Exit(0)
}

// filesRole runs a server that writes records to files by service, some of which are rotated often, and those of the service both to a
// second file, too.
func filesRole(address, dir string) {
	var sessions *Sessions
	file := func(name string, most int64) []Destination {
		return []Destination{{File: &linefile.Config{Path: filepath.Join(dir, name), MaxBytes: most}}}
	}
	s, err := New(Config{
		Journal: filepath.Join(dir, "journal"),
		Routes: []Route{
			{To: file("{service}.log", 0)},
			{Services: []string{"rotated"}, To: file("rotated.log", 300_000)},
			{Services: []string{"both"}, To: append(file("both.log", 0), file("second.log", 0)...)},
		},
		Listeners: []Listener{{Name: "own", Address: address, Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
			return sessions.Serve(ctx, conn, state)
		}}},
		Ready: func() error { _, err := fmt.Println("ready"); return err },
	})
	if err != nil {
		panic(err)
	}
	sessions = NewSessions(s.Acceptor(), SessionConfig{})
	if err := s.Run(context.Background()); err != nil {
		panic(err)
	}
}

// loggerRole logs its identity and numbers until it is told to end, and prints how many are
// acknowledged.
func loggerRole(address, spool, service string) {
	process.Config{Grace: time.Minute}.Main(func(ctx context.Context) error {
		h, err := logs.NewHandler("tcp://"+address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{
			Service: service, Spool: spool, MemoryBytes: 256 << 10, Linger: time.Millisecond, OnError: func(error) {},
		}})
		if err != nil {
			return err
		}
		fmt.Println("begun")
		n := 0
		for ctx.Err() == nil && h.Sender().Send(ctx, &logs.View{Message: fmt.Appendf(nil, "%s %d", h.Sender().Client(), n+1)}) == nil {
			n++
		}
		ctx = context.WithoutCancel(ctx)
		if err = h.Flush(ctx); err != nil {
			return err
		}
		fmt.Println("acknowledged", n)
		return h.Close(ctx)
	})
}

// TestKilledServerOfFiles kills a server again and again, sometimes while it starts, with clients that continue to send. The files have
// each line once, in the order of its client.
func TestKilledServerOfFiles(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	dir := t.TempDir()
	address := freeAddress(t)
	server := testenv.StartRole(t, "files", address, dir)
	server.Wait(t, "ready")
	var loggers []*testenv.Role
	services := []string{"one", "one", "rotated", "both"}
	for i, service := range services {
		l := testenv.StartRole(t, "logger", address, filepath.Join(dir, "spool", strconv.Itoa(i)), service)
		l.Wait(t, "begun")
		loggers = append(loggers, l)
	}
	for range testenv.Rounds(2, 12) {
		<-time.After(time.Duration(rand.N(150)) * time.Millisecond)
		server.Kill()
		server = testenv.StartRole(t, "files", address, dir)
		if rand.N(3) > 0 {
			server.Wait(t, "ready")
		}
	}
	logged := map[string]int{}
	for i, l := range loggers {
		if err := l.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(l.Wait(t, "acknowledged"))
		if err != nil {
			t.Fatal(err)
		}
		logged[services[i]] += n
	}
	server.Kill()
	logged["second"] = logged["both"]
	for _, service := range []string{"one", "rotated", "both", "second"} {
		names, err := filepath.Glob(filepath.Join(dir, service+"-*.log")) // the files before, whose names have their times
		if err != nil {
			t.Fatal(err)
		}
		wantEachOnce(t, service, logged[service], append(names, filepath.Join(dir, service+".log"))...)
	}
}

// wantEachOnce checks the lines of clients in files: each number once, in order, and want lines in total.
func wantEachOnce(t *testing.T, what string, want int, names ...string) {
	t.Helper()
	last := map[string]int{}
	lines := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "|")
			client, number, _ := strings.Cut(fields[len(fields)-1], " ")
			n, err := strconv.Atoi(number)
			if err != nil || len(fields) != 4 || n != last[client]+1 {
				t.Fatalf("%s: behind number %d of client %s is the line %q", what, last[client], client, line)
			}
			last[client] = n
			lines++
		}
	}
	if lines != want {
		t.Errorf("%s: %d lines, want %d", what, lines, want)
	}
}

// freeAddress returns an address where a server can listen again and again.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
