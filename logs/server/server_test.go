package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// lines returns the lines of a file without their times.
func lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if len(line) < 20 || line[19] != '|' {
			t.Fatalf("%s has the line %q", path, line)
		}
		all = append(all, strings.TrimSuffix(line[20:], "\n"))
	}
	return all
}

func equal(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// until waits until f returns true.
func until(t testing.TB, ctx context.Context, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
		if meanwhile.Sleep(ctx, time.Millisecond) != nil {
			t.Fatalf("ended before: %s", what)
		}
	}
}

func TestRoutes(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) []server.Destination {
		return []server.Destination{{File: &linefile.Config{Path: filepath.Join(dir, name)}}}
	}
	routes := []server.Route{
		{Services: []string{"api", "default"}, To: file("api.log")},
		{Services: []string{"api*"}, To: file("apis.log")},
		{Services: []string{"api-search*"}, Level: slog.LevelWarn, To: file("search.log")},
		{Services: []string{"words"}, Words: []string{"error", "odd"}, To: file("words.log")},
		{Services: []string{"*"}, Level: slog.LevelError, To: file("errors.log")},
		{To: file("{service}.log")},
	}
	run(t, server.Config{Routes: routes}, func(_ context.Context, _ *server.Server, address string) {
		conn := dial(t, address)
		for _, m := range [][3]string{
			{"api", "info", "1"},
			{"api-2", "warn", "2"},
			{"api-search", "info", "3"},
			{"api-search", "fatal", "4"},
			{"default", "debug", "5"},
			{"words", "warn", "6"},
			{"words", "odd", "7"},
			{"words", "error", "8"},
			{"../../x", "info", "9"},
			{"", "info", "10"},
			{"a\nb", "info", "11"},
		} {
			fmt.Fprint(conn, frame(m[0], m[1], m[2]))
		}
	})
	equal(t, "api", lines(t, dir+"/api.log"), "api|info|1", "default|debug|5")
	equal(t, "apis", lines(t, dir+"/apis.log"), "api-2|warn|2")
	equal(t, "search", lines(t, dir+"/search.log"), "api-search|fatal|4")
	equal(t, "words", lines(t, dir+"/words.log"), "words|odd|7", "words|error|8")
	equal(t, "errors", lines(t, dir+"/errors.log"), "api-search|fatal|4", "words|error|8")
	equal(t, "no path", lines(t, dir+"/%2e.%2f..%2fx.log"), "../../x|info|9")
	equal(t, "no name", lines(t, dir+"/analogger.log"), `analogger|info|10 from_service=""`)
	equal(t, "no valid name", lines(t, dir+"/a_b.log"), `a_b|info|11 from_service=a\nb`)
}

// Raw lines are what Analogger writes: all bytes as they came, and a repeat is one of the whole message.
func TestRawLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all")
	run(t, server.Config{Routes: []server.Route{{Dedupe: true, Raw: true, To: toFile(path)[0].To}}}, func(_ context.Context, _ *server.Server, address string) {
		conn := dial(t, address)
		for _, m := range [][3]string{
			{"api", "info", "one\ntwo\tthree\\n"},
			{"api", "info", "one\ntwo\tthree\\n"},
			{"api", "info", "one\ntwo\tthree\\n"},
			{"api", "info", "one\ntwo"},
			{"", "info", "no service"},
			{"", "info", "no service"},
			{"gr\xf6\xdfe", "warn", "Gr\xfc\xdfe \x1b[1m\x00"},
			{"a\nb", "au|dit", "\n"},
			{"x", "", ""},
		} {
			fmt.Fprint(conn, frame(m[0], m[1], m[2]))
		}
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\|`).ReplaceAllString(string(text), "@")
	want := "@api|info|one\ntwo\tthree\\n\n@api|info|Last message repeated 2 times\n@api|info|one\ntwo\n@|info|no service\n@|info|Last message repeated 1 times\n" +
		"@gr\xf6\xdfe|warn|Gr\xfc\xdfe \x1b[1m\x00\n@a\nb|au|dit|\n\n@x||\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A record that several routes send to one destination is written once. It is deduplicated there if all of the routes do so.
func TestRoutesToOnePlace(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) []server.Destination { return toFile(filepath.Join(dir, name))[0].To }
	routes := []server.Route{
		{Services: []string{"*"}, Level: slog.LevelError, To: file("level.log")},
		{Services: []string{"a"}, Level: slog.LevelWarn, To: file("level.log")},
		{Services: []string{"*"}, Words: []string{"odd"}, To: file("level.log")},
		{Services: []string{"*"}, Level: slog.LevelError, Dedupe: true, To: toFile(dir + "/./all.log")[0].To}, // another spelling of the same path
		{Services: []string{"a"}, To: file("all.log")},
		{Services: []string{"*"}, Dedupe: true, To: file("all.log")},
	}
	run(t, server.Config{Routes: routes}, func(_ context.Context, _ *server.Server, address string) {
		conn := dial(t, address)
		for _, severity := range []string{"info", "info", "warn", "error", "odd"} {
			fmt.Fprint(conn, frame("a", severity, "x"))
		}
		fmt.Fprint(conn, frame("b", "info", "x"), frame("b", "info", "x"))
	})
	equal(t, "level", lines(t, dir+"/level.log"), "a|warn|x", "a|error|x", "a|odd|x")
	equal(t, "all", lines(t, dir+"/all.log"), "a|info|x", "a|info|x", "a|warn|x", "a|error|x", "a|odd|x", "b|info|x", "b|info|Last message repeated 1 times")
}

func TestLinesAreWholeAndHarmless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, server.Config{Routes: toFile(path), MaxRecord: 100}, func(_ context.Context, _ *server.Server, address string) {
		conn := dial(t, address)
		for _, m := range []string{"two\nlines: and:colons", "\x1b[2Jclear\x07\r", "größe\u009b1m", "\xff\x9b", `c:\new`, strings.Repeat("ü", 60)} {
			fmt.Fprint(conn, frame("a|b", "in|fo", m))
		}
	})
	head := `a\x7cb|in\x7cfo|`
	equal(t, "lines", lines(t, path), head+`two\nlines: and:colons`, head+`\x1b[2Jclear\x07\r`, head+`größe\u009b1m`, head+`\xff\x9b`, head+`c:\new`,
		head+strings.Repeat("ü", 42)+" [cut: 36 bytes more]")
}

func TestCull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	routes := toFile(path)
	routes[0].Dedupe = true
	run(t, server.Config{Routes: routes, Interval: time.Hour}, func(ctx context.Context, s *server.Server, address string) {
		conn := dial(t, address)
		fmt.Fprint(conn, strings.Repeat(frame("a", "info", "x"), 5), frame("a", "warn", "x"), frame("a", "info", "x"), frame("a", "info", "x"))
	})
	equal(t, "lines", lines(t, path), "a|info|x", "a|info|Last message repeated 4 times", "a|warn|x", "a|info|x", "a|info|Last message repeated 1 times")
}

func TestLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, server.Config{Routes: toFile(path), Limits: []server.Limit{{Services: []string{"a"}, Rate: 0.001, Burst: 3}}, Interval: time.Hour}, func(ctx context.Context, s *server.Server, address string) {
		conn := dial(t, address)
		for i := range 10 {
			fmt.Fprint(conn, frame("a", "info", fmt.Sprint(i)))
		}
		until(t, ctx, "all came", func() bool { return s.Stats().Services["a"].Limited == 7 })
	})
	equal(t, "lines", lines(t, path), "a|info|0", "a|info|1", "a|info|2", "a|warn|7 records left out: more than 0.001 a second came left_out=7")
}

// Records that a limit has dropped are reported even if other limits apply by then.
func TestLimitBeforeOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	limits := func(rate float64) []server.Limit { return []server.Limit{{Rate: rate, Burst: 1}} }
	serve(t, server.Config{Routes: toFile(path), Limits: limits(0.001), Interval: time.Hour}, func(ctx context.Context, s *server.Server) {
		f := s.Batcher("test")
		for _, rate := range []float64{0.002, 0.003, 0.004} {
			for range 3 {
				f.Add(&logs.View{Service: []byte("a"), Message: []byte("hello")})
			}
			if err := f.Flush(ctx); err != nil {
				t.Error(err)
			}
			if err := s.SetRoutes(toFile(path), limits(rate), nil, nil); err != nil {
				t.Error(err)
			}
		}
	})
	got := lines(t, path)
	slices.Sort(got)
	want := []string{"a|info|hello", "a|info|hello", "a|info|hello"}
	for _, rate := range []string{"0.001", "0.002", "0.003"} {
		want = append(want, "a|warn|2 records left out: more than "+rate+" a second came left_out=2")
	}
	equal(t, "lines", got, want...)
}

// A connection that misbehaves does not affect others.
func TestHostileConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, server.Config{Routes: toFile(path), FrameTime: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, s *server.Server, address string) {
		good := dial(t, address)
		for _, test := range []struct{ sent, reply string }{
			{"00070007", "error: checksum failed\n"},
			{"00110012:::", "error: checksum failed\n"},
			{"99999999:a:info:", "error: max length exceeded\n"},
			{"GET / HTTP/1.1\r\n\r\n", "error: checksum failed\n"},
			{"0100", ""}, // and no more
			{frame("a", "info", "x")[:15], ""},
		} {
			conn := dial(t, address)
			fmt.Fprint(conn, test.sent)
			reply, _ := io.ReadAll(conn)
			if string(reply) != test.reply {
				t.Errorf("%q: got %q, want %q", test.sent, reply, test.reply)
			}
		}
		if got := s.Stats().Inputs["analogger"].Refused["half a frame in time"]; got != 2 {
			t.Errorf("%d half frames are counted: %v", got, s.Stats().Inputs)
		}
		fmt.Fprint(good, frame("a", "info", "fine"))
	})
	equal(t, "lines", lines(t, path), "a|info|fine")
}

// At its end, the server reads what the sockets of many connections hold.
func TestEndDrains(t *testing.T) {
	dir := t.TempDir()
	const connections, each = 20, 2000
	run(t, server.Config{Routes: toFile(dir + "/{service}.log")}, func(ctx context.Context, s *server.Server, address string) {
		var writers sync.WaitGroup
		for i := range connections {
			conn := dial(t, address)
			writers.Go(func() {
				var all bytes.Buffer
				for n := range each {
					all.WriteString(frame(fmt.Sprint(i), "info", fmt.Sprint(n)))
				}
				_, _ = conn.Write(all.Bytes())
			})
		}
		writers.Wait()
	})
	for i := range connections {
		got := lines(t, fmt.Sprintf("%s/%d.log", dir, i))
		if len(got) != each {
			t.Errorf("%d of %d messages of connection %d", len(got), each, i)
		}
		for n, line := range got {
			if want := fmt.Sprintf("%d|info|%d", i, n); line != want {
				t.Fatalf("line %d is %s", n, line)
			}
		}
	}
}

// A client that disconnects does not affect others, and no record is lost while a file cannot be written.
func TestFailingWritesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "a.log")
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, server.Config{Routes: toFile(path), Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, s *server.Server, address string) {
		conn := dial(t, address)
		failing := func() bool { o := s.Stats().Outputs; return len(o) == 1 && o[0].Failure != "" }
		fmt.Fprint(conn, frame("a", "info", "1"))
		until(t, ctx, "it fails", failing)
		_ = conn.Close()
		fmt.Fprint(dial(t, address), frame("a", "info", "2"))
		until(t, ctx, "both came", func() bool { return s.Stats().Services["a"].Records == 2 })
		if err := os.Remove(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		until(t, ctx, "it works", func() bool { return !failing() })
	})
	equal(t, "lines", lines(t, path), "a|info|1", "a|info|2")
}

func TestHandOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	whole := frame("a", "info", "whole")
	handover := make(chan []server.HandoverConn, 1)
	var conn io.WriteCloser
	if err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, err := server.New(server.Config{Routes: toFile(path), Listeners: []server.Listener{{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{}}}})
		if err != nil {
			return err
		}
		meanwhile.Go(ctx, func(ctx context.Context) error {
			err := s.Run(ctx)
			handover <- s.HandoverConns()
			return err
		})
		until(t, ctx, "it listens", func() bool { return s.Addr("analogger") != nil })
		conn = dial(t, s.Addr("analogger").String())
		fmt.Fprint(conn, whole, whole[:10])
		until(t, ctx, "the first came", func() bool { return s.Stats().Services["a"].Records == 1 })
		s.HandOver()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, whole[10:])
	run(t, server.Config{Routes: toFile(path), Resume: <-handover}, func(ctx context.Context, s *server.Server, _ string) {
		fmt.Fprint(conn, whole)
		_ = conn.Close()
		until(t, ctx, "all came", func() bool { return s.Stats().Services["a"].Records == 2 })
	})
	equal(t, "lines", lines(t, path), "a|info|whole", "a|info|whole", "a|info|whole")
}

// The severities to which one service is restricted do not affect others, and a service may be called default.
func TestLevelsOfOneService(t *testing.T) {
	dir := t.TempDir()
	routes := []server.Route{
		{Services: []string{"a"}, Words: []string{"error"}, To: toFile(dir + "/a.log")[0].To},
		{Services: []string{"default"}, To: toFile(dir + "/named.log")[0].To},
		toFile(dir + "/others.log")[0],
	}
	run(t, server.Config{Routes: routes}, func(ctx context.Context, s *server.Server, address string) {
		conn := dial(t, address)
		fmt.Fprint(conn, frame("a", "info", "1"), frame("b", "info", "2"), frame("default", "info", "3"))
		until(t, ctx, "two are written, while it runs", func() bool {
			written := 0
			for _, o := range s.Stats().Outputs {
				if o.Written > 0 {
					written++
				}
			}
			return written == 2
		})
	})
	equal(t, "named", lines(t, dir+"/named.log"), "default|info|3")
	equal(t, "others", lines(t, dir+"/others.log"), "b|info|2")
}
