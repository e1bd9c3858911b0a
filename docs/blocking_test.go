//go:build unix

package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/process"
)

// readFile reads a file from a disk that may take its time. It returns early when ctx is canceled.
func readFile(ctx context.Context, name string) ([]byte, error) {
	return meanwhile.Blocking(ctx, func() ([]byte, error) { return os.ReadFile(name) })
}

func TestReadFileReturnsEarly(t *testing.T) {
	name := filepath.Join(t.TempDir(), "slow")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		_, err := readFile(ctx, name)
		return err
	}, meanwhile.Timeout(20*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	endReads(t, name)
}

// archive bounds the reads from a disk that hangs now and then: 80 of the 100 places are for the rest.
var archive = meanwhile.NewSemaphore(20)

// readArchive reads a file of the archive. A read keeps its place there until it has returned, also when it was abandoned.
func readArchive(ctx context.Context, name string) ([]byte, error) {
	if err := archive.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	var begun atomic.Bool
	text, err := meanwhile.Blocking(ctx, func() ([]byte, error) {
		if !begun.CompareAndSwap(false, true) {
			return nil, nil // too late: the place has been given back
		}
		defer archive.Release(1)
		return os.ReadFile(name)
	})
	if begun.CompareAndSwap(false, true) { // it was canceled before it began
		archive.Release(1)
	}
	return text, err
}

func TestAnAbandonedCallKeepsItsPlace(t *testing.T) {
	before := process.SetMaxBlocking(1)
	defer process.SetMaxBlocking(before)
	name := filepath.Join(t.TempDir(), "slow")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context) error {
		_, err := readArchive(ctx, name)
		return err
	}
	// The first waits for the pipe. The second waits for the place that the first still has among those of Blocking.
	for _, what := range []string{"hangs", "has no place"} {
		if err := meanwhile.Run(t.Context(), read, meanwhile.Timeout(20*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read that %s returns %v", what, err)
		}
	}
	if got := archive.InUse(); got != 1 {
		t.Errorf("%d places are held, want that of the abandoned call", got)
	}
	endReads(t, name)
	if got := archive.InUse(); got != 0 {
		t.Errorf("%d places are held at the end", got)
	}
}

// endReads ends the calls that wait for a named pipe.
func endReads(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0); err != nil {
		t.Error(err)
	}
	isCall := func(n inspect.Node) bool { return n.Kind == "blocking" }
	for slices.ContainsFunc(inspect.Trees(), isCall) {
		_ = meanwhile.Sleep(t.Context(), time.Millisecond)
	}
}

// TestWhichCallsHoldAThread is about the table of the guide.
func TestWhichCallsHoldAThread(t *testing.T) {
	tests := []struct {
		name, wait string
		holds      bool
		setUp      func(t *testing.T) (call func() error, end func())
	}{
		{"connection", "network", false, connectionScene},
		{"channel", "receive", false, channelScene},
		{"mutex", "mutex", false, mutexScene},
		{"pipe", "file", false, pipeScene},
		{"raw pipe", "system call", true, rawPipeScene},
		{"named pipe", "system call", true, namedPipeScene},
		{"lock on a file", "system call", true, flockScene},
		{"process", "process", true, processScene},
	}
	const calls = 8
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			call, end := test.setUp(t)
			before := inSystemCalls()
			err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
				for range calls {
					meanwhile.Go(ctx, func(context.Context) error { return call() })
				}
				defer end()
				for !allWait(inspect.Tree(ctx), test.wait) {
					if err := meanwhile.Sleep(ctx, 5*time.Millisecond); err != nil {
						return fmt.Errorf("%w\n%v", err, inspect.Tree(ctx))
					}
				}
				if held := inSystemCalls() - before; test.holds != (held > calls/2) {
					t.Errorf("%d calls hold %d threads", calls, held)
				}
				return nil
			}, meanwhile.Timeout(20*time.Second))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func allWait(n inspect.Node, wait string) bool {
	for _, task := range n.Tasks {
		if task.Wait.For != wait {
			return false
		}
	}
	return true
}

func inSystemCalls() int {
	sample := []metrics.Sample{{Name: "/sched/goroutines/not-in-go:goroutines"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ends are what ends the calls of a scene when it is closed.
type ends struct {
	mu   sync.Mutex
	list []io.Closer
}

func (e *ends) add(c io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, c)
}

func (e *ends) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.list {
		_ = c.Close()
	}
}

func connectionScene(t *testing.T) (call func() error, end func()) {
	listener := must(net.Listen("tcp", "localhost:0"))
	t.Cleanup(func() { _ = listener.Close() })
	var e ends
	return func() error {
		conn := must(net.Dial("tcp", listener.Addr().String()))
		e.add(conn)
		_, _ = conn.Read(make([]byte, 1))
		return nil
	}, e.close
}

func pipeScene(*testing.T) (call func() error, end func()) {
	var e ends
	return func() error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		e.add(w)
		_, _ = r.Read(make([]byte, 1))
		return nil
	}, e.close
}

func channelScene(*testing.T) (call func() error, end func()) {
	ch := make(chan int)
	return func() error { <-ch; return nil }, func() { close(ch) }
}

func mutexScene(*testing.T) (call func() error, end func()) {
	var mu sync.Mutex
	mu.Lock()
	return func() error { mu.Lock(); defer mu.Unlock(); return nil }, mu.Unlock
}

func rawPipeScene(t *testing.T) (call func() error, end func()) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fds[0]) })
	return func() error {
		_, _ = syscall.Read(fds[0], make([]byte, 1))
		return nil
	}, func() { _ = syscall.Close(fds[1]) }
}

func namedPipeScene(t *testing.T) (call func() error, end func()) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() error { return must(os.Open(name)).Close() }, func() { _ = must(os.OpenFile(name, os.O_RDWR, 0)).Close() }
}

func flockScene(t *testing.T) (call func() error, end func()) {
	name := filepath.Join(t.TempDir(), "lock")
	lock := func() (*os.File, error) {
		f := must(os.Create(name))
		return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	holder := must(lock())
	return func() error {
		f, err := lock()
		_ = f.Close()
		return err
	}, func() { _ = holder.Close() }
}

func processScene(*testing.T) (call func() error, end func()) {
	r, w, err := os.Pipe()
	return func() error {
		cat := exec.Command("cat")
		cat.Stdin = r
		return errors.Join(err, cat.Run())
	}, func() { _ = w.Close() }
}

// TestBlockingPrograms runs the programs of the guide and looks for what it says they log.
func TestBlockingPrograms(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	folder := t.TempDir()
	slow := filepath.Join(folder, "slow")
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, b := range readBlocks(t, "blocking.md") {
		if !strings.HasPrefix(b.text, "package main\n") {
			continue
		}
		program := filepath.Join(folder, []string{"report", "compute"}[len(programs)])
		file := filepath.Join(program+".d", "main.go")
		if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "build", "-o", program, file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		programs = append(programs, program)
	}
	if len(programs) != 2 {
		t.Fatalf("blocking.md has %d programs, want 2", len(programs))
	}
	printed := []string{
		commented(t, "../examples/blocking/main.go", "1,000 calls"),
		commented(t, "../examples/blocking/main.go", "WARN"),
		commentedTree(t),
		logged(t, "a task keeps", programs[0], slow),
		logged(t, "a task keeps", programs[1], "1"),
		logged(t, "goroutines wait", programs[1], fmt.Sprint(20*runtime.GOMAXPROCS(0))),
	}
	for i := range printed {
		printed[i] = steady(printed[i])
	}
	found := 0
	for _, b := range readBlocks(t, "blocking.md") {
		if b.kind != "text" {
			continue
		}
		found++
		if want := steady(b.text); !within(want, printed) {
			t.Errorf("%v: nothing prints\n%s\nin\n%s", b, want, strings.Join(printed, "\n"))
		}
	}
	if found < 7 {
		t.Errorf("blocking.md has %d blocks of text, want 7 or more", found)
	}
}

// logged runs a program until it logs a line with the given words, and returns the line.
func logged(t *testing.T, words, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	pipe, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(pipe, &all)); lines.Scan(); {
		if strings.Contains(lines.Text(), words) {
			cancel()
			_ = command.Wait()
			return lines.Text() + "\n"
		}
	}
	_ = command.Wait()
	t.Errorf("%s %v logs nothing with %q:\n%s", program, args, words, all.String())
	return ""
}

func commentedTree(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../examples/blocking/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := bytes.Cut(text, []byte("//\tthe tree after 50 ms:\n"))
	text, _, end := bytes.Cut(text, []byte("package main"))
	if !ok || !end {
		t.Fatal("the comment of the program has no tree")
	}
	return strings.ReplaceAll(string(text), "//\t", "")
}

// TestBlockingExample runs the program that the guide is about and compares what it prints with its comment.
func TestBlockingExample(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "blocking")
	if out, err := exec.Command("go", "build", "-o", program, "../examples/blocking").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var log bytes.Buffer
	command := exec.CommandContext(t.Context(), program)
	command.Stderr = &log
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	_, rest, ok := strings.Cut(string(out), "\n\n")
	if !ok {
		t.Fatalf("got %s", out)
	}
	wantRest := commented(t, "../examples/blocking/main.go", "canceled after") + "\n" +
		"the tree after 50 ms:\n" + commentedTree(t)
	milliseconds := regexp.MustCompile(`(?m)\d+ ms$`)
	if got, want := milliseconds.ReplaceAllString(rest, "N ms"), milliseconds.ReplaceAllString(wantRest, "N ms"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checkFigures(t, commented(t, "../examples/blocking/main.go", "1,000 calls"), 1000)
	checkFigures(t, string(out), 300) // where it takes long to make a thread, the first call ends before the last begins
	// The calls are over soon: on a machine that is busy the watch may miss them once.
	want := steady(commented(t, "../examples/blocking/main.go", "WARN"))
	for try := 0; try < 5 && !strings.Contains(steady(log.String()), want); try++ {
		again := exec.CommandContext(t.Context(), program, "bare")
		again.Stderr = &log
		if err := again.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(steady(log.String()), want) {
		t.Errorf("the watch says\n%s\nwant\n%s", steady(log.String()), want)
	}
}

// checkFigures looks at the table of the program.
func checkFigures(t *testing.T, table string, leastHeld int) {
	t.Helper()
	for _, want := range []struct {
		title                     string
		least, most               float64 // seconds
		leastThreads, mostThreads int
	}{
		{"tasks with Sleep", 0.5, 3, 1, 50},
		{"tasks that hold a thread", 0.5, 6, leastHeld, 1050},
		{"tasks with Blocking", 5, 10, 100, 150},
	} {
		_, line, _ := strings.Cut(table, "\n"+want.title+" ")
		var seconds float64
		var threads int
		if _, err := fmt.Sscanf(line, "%f s %d", &seconds, &threads); err != nil {
			t.Errorf("%s: %v in\n%s", want.title, err, table)
		}
		if seconds < want.least || seconds > want.most || threads < want.leastThreads || threads > want.mostThreads {
			t.Errorf("%s: %.2f s and %d threads, want %+v", want.title, seconds, threads, want)
		}
	}
}

func TestBlockingMessages(t *testing.T) {
	if got := panicOf(func() { process.SetMaxBlocking(0) }); !strings.Contains(unbroken(t, "blocking.md"), got) {
		t.Errorf("blocking.md does not explain: %s", got)
	}
}
