//go:build unix

package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/process"
)

// raise sends a signal to the test's own process.
func raise(sig syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		panic(err)
	}
}

// serve answers requests until ctx is canceled; then it takes no new ones, and those that run have five seconds.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return meanwhile.Shield(ctx, 5*time.Second, server.Shutdown)
	}, meanwhile.Name("closer"))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func TestServeAnswersTheRequestsThatRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stop(&process.SignalError{Signal: syscall.SIGTERM})
		if meanwhile.Sleep(r.Context(), 50*time.Millisecond) == nil {
			_, _ = io.WriteString(w, "in peace")
		}
	})
	answer := make(chan string, 1)
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return serve(ctx, listener, handler) })
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answer <- string(body)
		return err
	})
	if err != nil || <-answer != "in peace" {
		t.Errorf("got %v", err)
	}
}

type store struct{ saved []string }

func (s *store) save(ctx context.Context, what string) error {
	err := meanwhile.Sleep(ctx, time.Millisecond)
	s.saved = append(s.saved, what)
	return err
}

// count counts until ctx is canceled, and saves how far it came.
func count(ctx context.Context, s *store) error {
	n := 0
	for meanwhile.Sleep(ctx, time.Second) == nil {
		n++
	}
	return meanwhile.Shield(ctx, 5*time.Second, func(ctx context.Context) error {
		return s.save(ctx, fmt.Sprint(n))
	})
}

func TestCountSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour+time.Millisecond, func() { stop(&process.SignalError{Signal: syscall.SIGTERM}) })
		err := meanwhile.Run(ctx, func(ctx context.Context) error { return count(ctx, &s) })
		if got := fmt.Sprint(s.saved); err != nil || got != "[3600]" {
			t.Errorf("saved %s, error %v", got, err)
		}
	})
}

// work does jobs until ctx is canceled, eight at once. Those begun are finished, and none is begun any more.
func work(ctx context.Context, jobs <-chan string, do func(context.Context, string) error) error {
	err := meanwhile.Each(ctx, meanwhile.Receive(ctx, jobs), func(ctx context.Context, job string) error {
		return meanwhile.Shield(ctx, 5*time.Second, func(ctx context.Context) error { return do(ctx, job) })
	}, meanwhile.Limit(8))
	var stopped *process.SignalError
	if errors.As(err, &stopped) {
		return nil // this is how it is meant to end: exit code 0
	}
	return err
}

func TestWorkFinishesWhatItHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := make(chan string, 100)
		for n := range 100 {
			jobs <- fmt.Sprint(n)
		}
		begun, finished := make(chan string, 100), make(chan string, 100)
		do := func(ctx context.Context, job string) error {
			begun <- job
			if err := meanwhile.Sleep(ctx, time.Second); err != nil {
				return err
			}
			finished <- job
			return nil
		}
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { stop(&process.SignalError{Signal: syscall.SIGTERM}) })
		err := meanwhile.Run(ctx, func(ctx context.Context) error { return work(ctx, jobs, do) })
		if err != nil || len(begun) != 16 || len(finished) != 16 {
			t.Errorf("%d begun, %d finished, error %v; want 16 and success", len(begun), len(finished), err)
		}
	})
}

func Example_onSignal() {
	var level slog.LevelVar
	reopen := func(context.Context) error { fmt.Println("the log is open again"); return nil }
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		done := make(chan struct{})
		process.OnSignal(ctx, func(ctx context.Context, _ os.Signal) error {
			defer close(done)
			return reopen(ctx)
		}, syscall.SIGHUP)

		process.OnSignal(ctx, func(context.Context, os.Signal) error {
			for _, tree := range inspect.Trees() {
				fmt.Fprint(os.Stderr, tree)
			}
			return nil
		}, syscall.SIGUSR1)

		verbose := process.OnSignal(ctx, func(context.Context, os.Signal) error {
			level.Set(slog.LevelDebug)
			return meanwhile.Stop // it stays so: the task ends, and the next USR2 is nobody's
		}, syscall.SIGUSR2)

		raise(syscall.SIGHUP)
		<-done
		raise(syscall.SIGUSR2)
		_, err := verbose.Wait(ctx)
		return err
	})
	fmt.Println(level.Level(), err)
	// Output:
	// the log is open again
	// DEBUG <nil>
}

func Example_exitCode() {
	readConfig := func() error { return errNotFound }
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		if err := readConfig(); err != nil {
			return &process.ExitError{Code: 78, Err: fmt.Errorf("read the configuration: %w", err)}
		}
		return step(ctx)
	})
	fmt.Println(err)
	// Output:
	// read the configuration: not found
}

// The first program of the guide does what the guide shows.
func TestShutdownProgram(t *testing.T) {
	testenv.LongTest(t)
	folder := t.TempDir()
	file, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "count")
	for _, b := range readBlocks(t, "shutdown.md") {
		if strings.HasPrefix(b.text, "package main\n") {
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if out, err := exec.Command("go", "build", "-o", binary, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	var notes strings.Builder
	cmd.Stderr = &notes
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "at work\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out)
	err = cmd.Wait()
	if got, want := string(rest), "stopping: stopped by signal interrupt\nsaved\n"; err != nil || !strings.HasSuffix(got, want) || notes.String() != "" {
		t.Errorf("got %v\n%s%s\nwant success and %s", err, got, notes.String(), want)
	}
}

func TestShutdownMessages(t *testing.T) {
	text, err := os.ReadFile("shutdown.md")
	if err != nil {
		t.Fatal(err)
	}
	unbroken := strings.Join(strings.Fields(string(text)), " ")
	for _, mistake := range []func(){
		func() { process.Config{Grace: -time.Second}.Main(nil) },
		func() { process.OnSignal(context.Background(), nil) },
	} {
		if got := panicOf(mistake); !strings.Contains(unbroken, got) {
			t.Errorf("shutdown.md does not explain: %s", got)
		}
	}
}
