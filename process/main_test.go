//go:build unix

package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	. "github.com/meanwhile-go/meanwhile/process"
	"github.com/meanwhile-go/meanwhile/retry"
)

// programs are the programs that the tests run, each in a process of its own. On standard output they print "ready" when
// they are ready for a signal, and "deferred" when main returns.
var programs = map[string]func(){
	"succeeds": func() { Main(func(context.Context) error { return nil }) },
	"fails":    func() { Main(func(context.Context) error { return errors.New("no config") }) },
	"named":    func() { Main(func(context.Context) error { return errors.New("no config") }, Name("api")) },
	"task fails": func() {
		Main(func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { return errors.New("no config") }, Name("loader"))
			return nil
		})
	},
	"exits 3": func() {
		Main(func(ctx context.Context) error {
			Go(ctx, func(context.Context) error {
				return fmt.Errorf("load: %w", &ExitError{Code: 3, Err: errors.New("no config")})
			}, Name("loader"))
			return nil
		})
	},
	"exits 4 silently": func() {
		Main(func(context.Context) error { return fmt.Errorf("load: %w", &ExitError{Code: 4}) })
	},
	"exits 256": func() {
		Main(func(context.Context) error { return &ExitError{Code: 256, Err: errors.New("no config")} })
	},
	"exits 0 with a word": func() {
		Main(func(context.Context) error { return &ExitError{Err: errors.New("nothing to do")} })
	},
	"exits 5, not alone": func() {
		Main(func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return errors.New("disk full")
			}, Name("saver"))
			return &ExitError{Code: 5}
		})
	},
	"calls Goexit": func() {
		atExit("exit", nil)
		Main(func(ctx context.Context) error {
			Go(ctx, func(context.Context) error {
				fmt.Println("task")
				return nil
			})
			runtime.Goexit()
			return nil
		})
	},
	"panics": func() { Main(func(context.Context) error { panic("what now") }) },
	"task panics": func() {
		Main(func(ctx context.Context) error {
			Go(ctx, func(context.Context) error { panic("what now") }, Name("thinker"))
			return nil
		})
	},
	"tries again": func() {
		attempts := 0
		Main(func(context.Context) error {
			if attempts++; attempts < 3 {
				return errors.New("not yet")
			}
			fmt.Println("attempts:", attempts)
			return nil
		}, Retry(retry.Policy{Base: time.Millisecond}))
	},
	"runs out of time": func() {
		Main(func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, Timeout(time.Millisecond))
	},

	"obeys": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			return Sleep(ctx, time.Hour)
		})
	},
	"says how it stops": func() {
		Main(func(ctx context.Context) error {
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			fmt.Println("ready")
			<-ctx.Done()
			fmt.Println("stopping")
			<-hangups
			<-time.After(50 * time.Millisecond) // time in which Main could exit
			fmt.Println("stopped")
			return nil
		})
	},
	"reloads": func() {
		Main(func(ctx context.Context) error {
			reloaded := OnSignal(ctx, func(context.Context, os.Signal) error {
				fmt.Println("reloaded")
				return Stop
			}, syscall.SIGHUP)
			fmt.Println("ready")
			<-reloaded.Done()
			return nil
		})
	},
	"writes for ever": func() {
		AtExit(func(context.Context) error {
			fmt.Fprintln(os.Stderr, "exit")
			return nil
		})
		Main(func(ctx context.Context) error {
			for ctx.Err() == nil {
				fmt.Println("ready")
			}
			return context.Cause(ctx)
		})
	},
	"loses a connection": func() {
		Main(func(ctx context.Context) error {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			_ = r.Close()
			for range 10 {
				if _, err := w.Write([]byte("hello")); !errors.Is(err, syscall.EPIPE) {
					return fmt.Errorf("the write returned %w", err)
				}
			}
			return Sleep(ctx, 50*time.Millisecond)
		})
	},
	"is started twice": func() {
		Main(func(context.Context) error {
			Main(func(context.Context) error { return nil })
			return nil
		})
	},
	"obeys with a word": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			return fmt.Errorf("read: %w", ctx.Err())
		})
	},
	"obeys in an attempt": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			return Sleep(ctx, time.Hour)
		}, Retry(retry.Policy{}))
	},
	"obeys below": func() {
		Main(func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) })
			fmt.Println("ready")
			return nil
		})
	},
	"saves": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			fmt.Println("cause:", context.Cause(ctx))
			return Shield(ctx, time.Minute, func(ctx context.Context) error {
				defer fmt.Println("saved")
				return Sleep(ctx, time.Millisecond)
			})
		})
	},
	"cannot save": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			return errors.New("disk full")
		})
	},
	"cannot save and obeys": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			return errors.Join(ctx.Err(), errors.New("disk full"))
		})
	},
	"exits 6 when stopped": func() {
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			return errors.Join(&ExitError{Code: 6, Err: errors.New("half done")}, ctx.Err())
		})
	},
	"takes its time": func() {
		Config{Grace: time.Hour}.Main(func(ctx context.Context) error {
			fmt.Println("ready")
			<-ctx.Done()
			fmt.Println("stopping")
			select {}
		})
	},
	"is stuck": func() {
		Config{Grace: time.Millisecond}.Main(func(ctx context.Context) error {
			Go(ctx, func(context.Context) error {
				<-make(chan int)
				return nil
			}, Name("ignores"))
			untilWaiting(ctx, "receive")
			fmt.Println("ready")
			return nil
		})
	},
	"tidies up": func() {
		atExit("first", nil)
		atExit("second", errors.New("disk full"))
		atExit("third", nil)()
		AtExit(func(context.Context) error { panic("what now") })
		Main(func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				defer fmt.Println("task")
				return Sleep(ctx, 10*time.Millisecond)
			})
			return nil
		})
	},
	"tidies up and fails": func() {
		atExit("exit", errors.New("disk full"))
		Main(func(context.Context) error { return errors.New("no config") })
	},
	"tidies up and panics": func() {
		atExit("exit", nil)
		Main(func(context.Context) error { panic("what now") })
	},
	"tidies up and obeys": func() {
		atExit("exit", nil)
		Main(func(ctx context.Context) error {
			fmt.Println("ready")
			return Sleep(ctx, time.Hour)
		})
	},
	"tidies up and is stuck": func() {
		atExit("exit", errors.New("disk full"))
		Config{Grace: time.Millisecond}.Main(func(context.Context) error {
			fmt.Println("ready")
			select {}
		})
	},
	"hangs when it tidies up": func() {
		atExit("first", nil)
		AtExit(func(context.Context) error { select {} })
		AtExit(func(ctx context.Context) error {
			<-ctx.Done()
			fmt.Println("second:", context.Cause(ctx))
			return nil
		})
		Main(func(context.Context) error { return nil })
	},
	"tidies up for long": func() {
		AtExit(func(context.Context) error {
			fmt.Println("ready")
			select {}
		})
		Config{Grace: time.Millisecond}.Main(func(context.Context) error { return nil })
	},
	"tidies up twice": func() {
		for range 2 {
			cancel := atExit("exit", nil)
			Main(func(context.Context) error { return nil })
			cancel()
		}
	},

	"stays": func() {
		Main(func(context.Context) error { return nil })
		fmt.Println("ready")
		select {}
	},
	"wants one signal": func() {
		_ = Run(context.Background(), func(ctx context.Context) error {
			stop := func(context.Context, os.Signal) error { return Stop }
			task := OnSignal(ctx, stop, syscall.SIGHUP)
			fmt.Println("ready")
			<-task.Done()
			return nil
		})
		fmt.Println("ready again")
		select {}
	},
	"wants signals outside a scope": func() {
		func() {
			defer func() { _ = recover() }()
			OnSignal(context.Background(), nil, syscall.SIGHUP)
		}()
		fmt.Println("ready")
		select {}
	},
}

// atExit registers a function that prints its name and returns err.
func atExit(name string, err error) (cancel func()) {
	return AtExit(func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			panic("no time")
		}
		fmt.Println(name)
		return err
	})
}

func TestMain(m *testing.M) {
	program, ok := programs[os.Getenv("MEANWHILE_TEST_PROGRAM")]
	if !ok {
		testenv.DefaultSignals()
		testenv.Parallel(8)
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { panic("nobody ended the program") })
	func() {
		defer fmt.Println("deferred")
		program()
	}()
	os.Exit(0)
}

// A child is a process that runs one of the programs.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	pipe   io.Closer // of stdout
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startChild(t *testing.T, program string, stderr *os.File) *child {
	t.Helper()
	if programs[program] == nil {
		t.Fatalf("there is no program %q", program)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self)}
	c.cmd.Args[0] = "some/where/service.exe"
	// With the race detector, a process would otherwise take a second to exit.
	c.cmd.Env = append(os.Environ(), "MEANWHILE_TEST_PROGRAM="+program, "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = &c.stderr
	if stderr != nil {
		c.cmd.Stderr = stderr
	}
	pipe, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.pipe = pipe
	c.stdout = bufio.NewReader(pipe)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// await returns when the program has printed the line.
func (c *child) await(line string) {
	c.t.Helper()
	for {
		got, err := c.stdout.ReadString('\n')
		if err != nil {
			_ = c.cmd.Wait()
			c.t.Fatalf("it did not print %q: %v\n%s", line, c.cmd.ProcessState, &c.stderr)
		}
		if got == line+"\n" {
			return
		}
	}
}

func (c *child) signal(sig os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// end waits for the end of the process and compares its outcome. stderr must match its whole standard error.
func (c *child) end(code int, stdout, stderr string) {
	c.t.Helper()
	out, _ := io.ReadAll(c.stdout)
	_ = c.cmd.Wait()
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("got exit code %d, want %d (%v)", got, code, c.cmd.ProcessState)
	}
	if string(out) != stdout {
		c.t.Errorf("got output %q, want %q", out, stdout)
	}
	if !regexp.MustCompile(`(?s)\A(?:` + stderr + `)\z`).Match(c.stderr.Bytes()) {
		c.t.Errorf("got on stderr\n%s\nwant a match of\n%s", &c.stderr, stderr)
	}
}

func TestMainExits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		program string
		code    int
		stdout  string // all of it
		stderr  string // a regular expression for all of it
	}{
		{program: "succeeds", stdout: "deferred\n"},
		{program: "fails", code: 1, stderr: "service: no config\n"},
		{program: "named", code: 1, stderr: "api: no config\n"},
		{program: "task fails", code: 1, stderr: "service: task service/loader: no config\n"},
		{program: "exits 3", code: 3, stderr: "service: task service/loader: load: no config\n"},
		{program: "exits 4 silently", code: 4},
		{program: "exits 256", code: 1, stderr: "service: no config\n"},
		{program: "exits 0 with a word", stdout: "deferred\n", stderr: "service: nothing to do\n"},
		{program: "exits 5, not alone", code: 5, stderr: `service: exit code 5 \(and 1 more: task service/saver: disk full\)` + "\n"},
		{program: "calls Goexit", code: 1, stdout: "task\nexit\n", stderr: "service: the function called runtime.Goexit .*\n"},
		{program: "panics", code: 2, stderr: "service: panic: what now\n\ngoroutine 1 .*main_test.go:\\d+ .*\n"},
		{program: "is started twice", code: 2, stderr: "service: panic: meanwhile: Main inside of Main: .*"},
		{program: "loses a connection", stdout: "deferred\n"},
		{program: "task panics", code: 2, stderr: "service: task service/thinker: panic: what now\n\ngoroutine .*main_test.go:\\d+ .*\n"},
		{program: "tries again", stdout: "attempts: 3\ndeferred\n"},
		{
			program: "tidies up", stdout: "task\nsecond\nfirst\ndeferred\n",
			stderr: "service: at exit: panic: what now\n\ngoroutine .*main_test.go:\\d+ .*\nservice: at exit: disk full\n",
		},
		{program: "tidies up and fails", code: 1, stdout: "exit\n", stderr: "service: at exit: disk full\nservice: no config\n"},
		{program: "tidies up and panics", code: 2, stdout: "exit\n", stderr: "service: panic: what now\n.*"},
		{program: "tidies up twice", stdout: "exit\nexit\ndeferred\n"},
		{
			program: "hangs when it tidies up", stdout: "second: the process exits\nfirst\ndeferred\n",
			stderr: `service: at exit: the function of main_test.go:\d+ has not returned within \d+ms\n`,
		},
		{program: "runs out of time", code: 1, stderr: "service: context deadline exceeded: the timeout of 1ms is over\n"},
	}
	for _, test := range tests {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()
			startChild(t, test.program, nil).end(test.code, test.stdout, test.stderr)
		})
	}
}

func TestMainStopsAtASignal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		program string
		signal  syscall.Signal
		code    int
		stdout  string // all of it after "ready"
		stderr  string
	}{
		{program: "obeys", signal: syscall.SIGINT, code: 130},
		{program: "obeys", signal: syscall.SIGTERM, code: 143},
		{program: "obeys", signal: syscall.SIGHUP, code: 129},
		{program: "tidies up and obeys", signal: syscall.SIGHUP, code: 129, stdout: "exit\n"},
		{program: "reloads", signal: syscall.SIGHUP, stdout: "reloaded\ndeferred\n"},
		{program: "obeys with a word", signal: syscall.SIGTERM, code: 143},
		{program: "obeys in an attempt", signal: syscall.SIGTERM, code: 143},
		{program: "obeys below", signal: syscall.SIGTERM, code: 143},
		{program: "saves", signal: syscall.SIGTERM, stdout: "cause: stopped by signal terminated\nsaved\ndeferred\n"},
		{program: "cannot save", signal: syscall.SIGTERM, code: 1, stderr: "service: disk full\n"},
		{program: "cannot save and obeys", signal: syscall.SIGTERM, code: 1, stderr: "service: context canceled\ndisk full: stopped by signal terminated\n"},
		{program: "exits 6 when stopped", signal: syscall.SIGTERM, code: 6, stderr: "service: half done\n.*"},
		{program: "tidies up and obeys", signal: syscall.SIGTERM, code: 143, stdout: "exit\n"},
		{program: "tidies up and obeys", signal: syscall.SIGQUIT, code: 2, stdout: "exit\n", stderr: "service.*\nSIGQUIT: quit\n.*goroutine 1 .*"},
		{
			program: "tidies up and is stuck", signal: syscall.SIGTERM, code: 124, stdout: "exit\n",
			stderr: "service: not ended within 1ms after signal terminated; what still runs:\nservice .*\nservice: at exit: disk full\n",
		},
		// The first signal comes late, and has no effect any more.
		{program: "tidies up for long", signal: syscall.SIGTERM, stdout: "deferred\n", stderr: "service: at exit: .* has not returned within 1.5s\n"},
		{program: "is stuck", signal: syscall.SIGINT, code: 124, stderr: "service: not ended within 1ms after signal interrupt; what still runs:\n" +
			`service \(.*\n.* ignores \(canceled\).* receive.*main_test.go:\d+.*\n`},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.program, " ", test.signal), func(t *testing.T) {
			if test.program == "tidies up for long" {
				testenv.LongTest(t)
			}
			t.Parallel()
			c := startChild(t, test.program, nil)
			c.await("ready")
			c.signal(test.signal)
			c.end(test.code, test.stdout, test.stderr)
		})
	}
}

// A program whose output has lost its reader calls its functions of AtExit, and ends as it would without Main.
func TestMainStopsAtABrokenPipe(t *testing.T) {
	t.Parallel()
	c := startChild(t, "writes for ever", nil)
	c.await("ready")
	if err := c.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if got := c.cmd.ProcessState.ExitCode(); got != 141 || c.stderr.String() != "exit\n" {
		t.Errorf("got %v and on stderr %q, want exit code 141", c.cmd.ProcessState, &c.stderr)
	}
}

// A hangup never counts as the second signal: it is also sent when a terminal is closed after ctrl-C.
func TestMainGoesOnStoppingAtAHangup(t *testing.T) {
	t.Parallel()
	c := startChild(t, "says how it stops", nil)
	c.await("ready")
	c.signal(syscall.SIGINT)
	c.await("stopping")
	c.signal(syscall.SIGHUP)
	c.end(0, "stopped\ndeferred\n", "")
}

func TestMainExitsAtTheSecondSignal(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := startChild(t, "takes its time", nil)
		c.await("ready")
		c.signal(syscall.SIGINT)
		c.await("stopping")
		// An impatient user: the first of these signals may come so soon that it counts as a repetition of the previous one.
		again := time.NewTicker(10 * time.Millisecond)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.end(128+int(second), "", "")
		}()
		for running := true; running; {
			select {
			case <-again.C:
				_ = c.cmd.Process.Signal(second)
			case <-ended:
				running = false
			}
		}
		again.Stop()
	}
}

func TestMainAtQuit(t *testing.T) {
	t.Parallel()
	c := startChild(t, "obeys", nil)
	c.await("ready")
	c.signal(syscall.SIGQUIT)
	c.end(2, "", "service.*\nSIGQUIT: quit\n.*goroutine 1 .*")
}

// The pipe that the process prints to is full and is not read.
func TestMainExitsWhenItCannotPrint(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(); _ = writer.Close() }()
	if err := writer.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := writer.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	c := startChild(t, "is stuck", writer)
	c.await("ready")
	c.signal(syscall.SIGINT)
	c.end(124, "", "")
}

// When Main has returned, or the task of OnSignal has ended, a signal has its usual effect again.
func TestSignalsAreGivenBack(t *testing.T) {
	tests := []struct {
		program string
		signal  syscall.Signal
		before  int // how many signals are received before
	}{
		{"stays", syscall.SIGINT, 0},
		{"stays", syscall.SIGTERM, 0},
		{"wants one signal", syscall.SIGHUP, 1},
		{"wants signals outside a scope", syscall.SIGHUP, 0},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.program, " ", test.signal), func(t *testing.T) {
			t.Parallel()
			c := startChild(t, test.program, nil)
			c.await("ready")
			for range test.before {
				c.signal(test.signal)
				c.await("ready again")
			}
			c.signal(test.signal)
			_ = c.cmd.Wait()
			if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != test.signal {
				t.Errorf("got %v, want the end by signal %v", c.cmd.ProcessState, test.signal)
			}
		})
	}
}

// TestSignalsThatAreIgnored starts the test above from a shell with ignored signals, as nohup(1) would.
func TestSignalsThatAreIgnored(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "sh"), "-c", `trap "" HUP INT && exec "$0" "$@"`, os.Args[0], "-test.run=^TestSignalsAreGivenBack$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestGraceMustBePositive(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "meanwhile: Config.Grace of -1s: give a positive duration") {
			t.Errorf("got %q", got)
		}
	}()
	Config{Grace: -time.Second}.Main(nil)
}
