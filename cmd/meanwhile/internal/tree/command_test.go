package tree

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

func TestMain(m *testing.M) {
	if os.Getenv("MEANWHILE_TEST_PROGRAM") != "" {
		if err := program(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// program is a program that has tasks and serves their tree. It prints its address, and ends when its input is closed.
func program() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return meanwhile.Run(context.Background(), func(ctx context.Context) error {
		mux := http.NewServeMux()
		mux.Handle("/debug/meanwhile", live.Handler(live.Config{}))
		server := &http.Server{Handler: mux}
		meanwhile.Go(ctx, func(context.Context) error { _ = server.Serve(listener); return nil }, meanwhile.Name("server"))
		sleep := func(ctx context.Context) error { return meanwhile.Sleep(ctx, time.Hour) }
		naps := meanwhile.Go(ctx, func(ctx context.Context) error {
			for i := range 3 {
				meanwhile.Go(ctx, sleep, meanwhile.Name(fmt.Sprint("nap ", i)))
			}
			return sleep(ctx)
		}, meanwhile.Name("naps"))
		for asleep(inspect.Tree(ctx)) < 4 {
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		fmt.Println(listener.Addr())
		_, err := io.Copy(io.Discard, os.Stdin)
		naps.Cancel(nil)
		_ = server.Close()
		return err
	}, meanwhile.Name("shop"))
}

// asleep counts the sleeping tasks of a tree.
func asleep(n inspect.Node) (count int) {
	if n.Wait.For == "sleep" {
		count++
	}
	for _, below := range n.Tasks {
		count += asleep(below)
	}
	return count
}

// start starts the program in a separate process and returns its address.
func start(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "MEANWHILE_TEST_PROGRAM=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func run(t *testing.T, c Command) (stdout, stderr string) {
	t.Helper()
	c.Timeout = time.Minute
	if c.Max == 0 {
		c.Max = 10_000
	}
	var out, notes bytes.Buffer
	if err := c.Run(probe.Streams{Out: &out, Err: &notes}); err != nil {
		t.Fatal(err)
	}
	return out.String(), notes.String()
}

func TestTreeOfAProgram(t *testing.T) {
	address := probe.Target{Address: start(t)}

	text, _ := run(t, Command{Target: address})
	lines := strings.Split(text, "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], "(pid ") || !strings.Contains(lines[0], ": 6 tasks, ") {
		t.Fatalf("got %d lines:\n%s", len(lines)-1, text)
	}
	for i, want := range []string{"shop", "├─ server", "└─ naps", "   └─ nap 0 … nap 2, 3 tasks: sleep"} {
		if got := lines[i+1]; !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i+1, got, want)
		}
	}

	text, notes := run(t, Command{Target: address, Filter: "NAP 1"})
	if got := strings.Count(text, "\n"); got != 4 || !strings.Contains(text, "\n   └─ nap 1") || notes != "" {
		t.Errorf("with a filter, got %d lines:\n%s%s", got, text, notes)
	}

	text, notes = run(t, Command{Target: address, Filter: "nap", Max: 3})
	if !strings.Contains(text, "… and 3 more") || notes != "Not searched: 3 tasks beyond --max 3\n" {
		t.Errorf("with a filter and a bound, got\n%s%s", text, notes)
	}

	text, _ = run(t, Command{Target: address, JSON: true})
	var s live.Snapshot
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.Tasks != 6 || len(s.Trees) != 1 || s.Trees[0].Name != "shop" || probe.Listed(s.Trees) != 6 || s.CanCancel {
		t.Errorf("got %s", text)
	}
}

// snapshotOf serves a snapshot and returns its address.
func snapshotOf(t *testing.T, s live.Snapshot) probe.Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s)
	}))
	t.Cleanup(server.Close)
	return probe.Target{Address: server.URL}
}

// TestDrawnTextIsPrintable: names of tasks must not affect the user's terminal.
func TestDrawnTextIsPrintable(t *testing.T) {
	text, _ := run(t, Command{Target: snapshotOf(t, live.Snapshot{
		Program: "shop\x1b[2J", PID: 7, Time: time.Now(), Tasks: 5,
		Trees: []inspect.Node{{ID: 1, Name: "a\n\x1b[31mb", State: "running", Tasks: []inspect.Node{
			{ID: 2, Name: "商品", State: "\x07", Wait: inspect.Wait{For: "task", On: "\u009b1m"}},
		}}},
	})})
	for _, r := range text {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Errorf("%q is in\n%q", r, text)
		}
	}
	if got := strings.Split(text, "\n"); !strings.Contains(text, "└─ 商品") || got[len(got)-2] != "… and 3 more" {
		t.Errorf("got\n%s", text)
	}
}

func TestUnwritableOutput(t *testing.T) {
	c := Command{Target: snapshotOf(t, live.Snapshot{Program: "shop", PID: 7, Time: time.Now()}), Max: 1}
	c.Timeout = time.Minute
	for _, c.JSON = range []bool{true, false} {
		reader, writer := io.Pipe()
		_ = reader.CloseWithError(io.ErrShortWrite)
		err := c.Run(probe.Streams{Out: writer, Err: io.Discard})
		if err == nil || err.Error() != "write the trees: short write" {
			t.Errorf("JSON %v: got %v", c.JSON, err)
		}
	}
}
