//go:build unix

package docs_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/live"
)

// TestHangs runs the program of the guide and looks for all that the guide, and the program's own comment, say it prints.
func TestHangs(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	hang, command := buildHang(t)
	serving := make(chan []string, 1)
	go func() { serving <- serveHang(t, hang, command) }()

	var log strings.Builder
	run := exec.CommandContext(t.Context(), hang)
	run.Stderr = &log
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if got, want := steady(string(out)), steady(commented(t, "../examples/hang/main.go", "hang (pid")); got != want {
		t.Errorf("the comment of the program is not what it prints:\n%s\nwant\n%s", want, got)
	}
	logged := regexp.MustCompile(`(?m)^.* goroutines wait for a processor .*\n`).ReplaceAllString(log.String(), "") // on a busy machine
	findings := steady(commented(t, "../examples/hang/main.go", "WARN"))
	if got := steady(logged); sortedLines(got) != sortedLines(findings) { // two of one second may come in one look or in two
		t.Errorf("the comment of the program is not what it logs:\n%s\nwant\n%s", findings, got)
	}

	printed := append(<-serving, steady(string(out)), findings, stoppedForGood(t), whereTheTimeGoes(t))
	found := 0
	for _, b := range readBlocks(t, "hangs.md") {
		if b.kind != "text" {
			continue
		}
		found++
		want := steady(b.text)
		for range 4 { // a picture is of one moment, in which a connection may just be served or a clock ring
			if within(want, printed) {
				break
			}
			printed = append(printed, serveHang(t, hang, command)...)
		}
		if !within(want, printed) {
			t.Errorf("%v: nothing prints\n%s\namong\n%s", b, want, strings.Join(printed, "\n"))
		}
	}
	if found < 10 {
		t.Errorf("hangs.md has %d blocks of text, want 10 or more", found)
	}
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, "\n")), "\n")
}

func within(text string, all []string) bool {
	for _, s := range all {
		if strings.Contains("\n"+s, "\n"+text) {
			return true
		}
	}
	return false
}

func buildHang(t *testing.T) (hang, command string) {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("go", "build", "-o", folder+"/", "../examples/hang").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "hang"), putCommand(t, folder)
}

// serveHang has the program serve, asks it in the ways of the guide, and returns what they print.
func serveHang(t *testing.T, hang, command string) (printed []string) {
	var log strings.Builder
	program := exec.CommandContext(t.Context(), hang, "-serve", "-listen", "localhost:0")
	program.Stderr = &log
	pipe, err := program.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := program.Start(); err != nil {
		t.Error(err)
		return nil
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "look at ")
	if !ok {
		t.Errorf("the program printed %q, %v", line, err)
	}
	text := askUntilStuck(t, url)
	filtered, err := exec.CommandContext(t.Context(), command, "tree", url, "--filter", "deadlock").Output()
	if err != nil {
		t.Errorf("meanwhile tree: %v", err)
	}
	_ = program.Process.Signal(syscall.SIGQUIT)
	_ = program.Wait()
	trees, _, quit := strings.Cut(log.String(), "SIGQUIT: quit\n")
	if !quit || program.ProcessState.ExitCode() != 2 {
		t.Errorf("QUIT was answered by %v:\n%s", program.ProcessState, log.String())
	}

	refused, err := exec.CommandContext(t.Context(), command, "tree", url).CombinedOutput()
	address := strings.TrimPrefix(url, "http://")
	message := strings.Replace(strings.TrimSpace(string(refused)), address, "localhost:6060/debug/meanwhile", 1)
	if err == nil || !strings.Contains(unbroken(t, "hangs.md"), message) {
		t.Errorf("hangs.md does not explain: %s", message)
	}
	return []string{steady(text), steady(string(filtered)), steady(trees)}
}

// askUntilStuck returns the tree when all that hangs has hung for a second.
func askUntilStuck(t *testing.T, url string) (text string) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for strings.Count(text, "here for") < 6 || strings.Count(text, "here in") < 12 {
			if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			response, err := http.Get(url)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				return err
			}
			text = string(body)
		}
		return nil
	}, meanwhile.Timeout(30*time.Second))
	if err != nil {
		t.Errorf("%v; the tree is\n%s", err, text)
	}
	return text
}

// commented returns the part of a program's comment that is indented and begins with the given text.
func commented(t *testing.T, file, beginning string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n//\t"+beginning)
	part, _, ended := strings.Cut(rest, "\n//\n")
	if !ok || !ended {
		t.Fatalf("the comment of %s has no part that begins with %q", file, beginning)
	}
	return beginning + strings.ReplaceAll(part, "\n//\t", "\n") + "\n"
}

var changing = []struct {
	text *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`(?m)^\$ .*\n`), ""},
	{regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `), ""},
	{regexp.MustCompile(`pid \d+`), "pid N"},
	{regexp.MustCompile(`\d+ goroutines, \d+ threads`), "N goroutines, N threads"},
	{regexp.MustCompile(`elapsed=[0-9.]+(ms|s)`), "elapsed=N"},
	{regexp.MustCompile(`, here (for [0-9hms]+|in \d+ snapshots)"`), `"`},
	{regexp.MustCompile(`here in \d+ snapshots`), "here in N snapshots"},
	{regexp.MustCompile(`(\d+h)?(\d+m)?\d+s\b`), "Ns"},
	{regexp.MustCompile(`(?m)((?:server|watch|heartbeat), Ns): .*$`), "$1"}, // which do not hang
	{regexp.MustCompile(`_test\.go:(\d+|LINE)`), "_test.go:N"},
	{regexp.MustCompile(`count=\d+`), "count=N"},
	{regexp.MustCompile(` *\b[0-9.]+ %`), " N %"},
	{regexp.MustCompile(`\d+ snapshots, which`), "N snapshots, which"},
	{regexp.MustCompile(`places="compute/task \d+: running, main.go:3\d`), `places="compute/task N: running, main.go:N`}, // in its loop
	{regexp.MustCompile(`and \d+ more there[^"]*"`), `and N more there"`},                                                // and at other places
}

// steady is what stays the same in each run of what a program prints.
func steady(text string) string {
	for _, c := range changing {
		text = c.text.ReplaceAllString(text, c.by)
	}
	return text
}

// unbroken is the text of a guide in one line.
func unbroken(t *testing.T, guide string) string {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Error(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// stoppedForGood runs the next test in a process of its own, and returns what it prints.
func stoppedForGood(t *testing.T) string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThatStopsForGood$")
	child.Env = append(os.Environ(), "MEANWHILE_DOCS_STOP=1")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: deadlock: all goroutines in bubble are blocked") {
		t.Errorf("got %v\n%s", err, out)
	}
	_, shown, _ := strings.Cut(string(out), "shop (joining)")
	return steady("shop (joining)" + strings.ReplaceAll(shown, "\n        ", "\n"))
}

func TestThatStopsForGood(t *testing.T) {
	if os.Getenv("MEANWHILE_DOCS_STOP") == "" {
		t.Skip("another test runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
			time.AfterFunc(time.Hour, func() { t.Log(inspect.Tree(ctx)) })
			orders := make(chan string)
			meanwhile.Go(ctx, func(context.Context) error {
				<-orders
				return nil
			}, meanwhile.Name("clerk"))
			return nil
		}, meanwhile.Name("shop"))
	})
}

func writeLetter(ctx context.Context, paper chan<- string) error {
	select {
	case paper <- "Dear customer":
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestTheWriterWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			paper := make(chan string)
			meanwhile.Go(ctx, func(ctx context.Context) error { return writeLetter(ctx, paper) }, meanwhile.Name("writer"))
			synctest.Wait()
			if got := inspect.Tree(ctx).Tasks[0].Wait.For; got != "select" {
				t.Errorf("the writer waits for %q, want select", got)
			}
			<-paper
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// readOrder reads a line from conn. It gives up when ctx is canceled.
func readOrder(ctx context.Context, conn net.Conn, lines *bufio.Reader) (string, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	order, err := lines.ReadString('\n')
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return order, err
}

func TestReadOrderEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		lines := bufio.NewReader(near)
		go func() { _, _ = far.Write([]byte("a shirt\n")) }()
		if order, err := readOrder(t.Context(), near, lines); order != "a shirt\n" || err != nil {
			t.Errorf("got %q, %v", order, err)
		}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			_, err := readOrder(ctx, near, lines)
			return err
		}, meanwhile.Timeout(time.Minute))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHangsNamesAllWaits compares the table of the guide with the comment on Wait.For.
func TestHangsNamesAllWaits(t *testing.T) {
	source, err := os.ReadFile("../inspect/tree.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("hangs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "// For is the kind of the wait:\n")
	list, _, _ = strings.Cut(list, "\tFor  ")
	_, table, _ := strings.Cut(string(guide), "\n## What a task waits for\n")
	table, _, _ = strings.Cut(table, "\n## ")
	found := 0
	for line := range strings.SplitSeq(list, "\n") {
		line, ok := strings.CutPrefix(line, "\t//\t")
		if !ok {
			continue
		}
		kinds, _, wide := strings.Cut(line, "  ")
		if !wide {
			kinds = strings.TrimSpace(line[:14]) // the width of the column
		}
		for kind := range strings.SplitSeq(kinds, ", ") {
			found++
			if !regexp.MustCompile("(?m)^\\|[^|]*`" + kind + "`").MatchString(table) {
				t.Errorf("the table of hangs.md has no %q", kind)
			}
		}
	}
	if found < 25 {
		t.Errorf("the comment on Wait.For has %d kinds, want 25 or more", found)
	}
}

func TestWhatTheTreeCannotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			never := make(chan struct{})
			defer close(never)
			meanwhile.Go(ctx, func(ctx context.Context) error {
				go func() { <-never }() // is not a task
				<-never
				return nil
			}, meanwhile.Name("plain"))
			meanwhile.Go(ctx, func(ctx context.Context) error {
				go func() { _ = meanwhile.Sleep(ctx, time.Hour) }()
				return meanwhile.Sleep(ctx, time.Minute)
			}, meanwhile.Name("helped"))
			meanwhile.Go(ctx, func(context.Context) error {
				dive(130, func() { <-never })
				return nil
			}, meanwhile.Name("deep"))
			synctest.Wait()
			tasks := inspect.Tree(ctx).Tasks
			if len(tasks) != 3 || len(tasks[0].Tasks) != 0 {
				t.Fatalf("got\n%s", inspect.Tree(ctx))
			}
			if w := tasks[1].Wait; w.For != "sleep" || !w.Until.IsZero() || w.Line == 0 {
				t.Errorf("a sleep beside one of a goroutine that the task started is %v", w)
			}
			if w := tasks[2].Wait; w.For != "unknown" {
				t.Errorf("a wait 130 calls deep is %v", w)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// dive calls itself depth times, and then f.
func dive(depth int, f func()) {
	if depth > 0 {
		dive(depth-1, f)
		return
	}
	f()
}

func TestOtherMachinesAreRefused(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/debug/meanwhile", nil) // it comes from 192.0.2.1
	answer := httptest.NewRecorder()
	live.Handler(live.Config{}).ServeHTTP(answer, request)
	if got := strings.TrimSpace(answer.Body.String()); answer.Code != http.StatusForbidden || !strings.Contains(unbroken(t, "hangs.md"), got) {
		t.Errorf("hangs.md does not explain: %d %s", answer.Code, got)
	}
}
