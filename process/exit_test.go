package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A circle is an error that wraps itself by another error.
type circle struct{ below error }

func (*circle) Error() string   { return "circle" }
func (c *circle) Unwrap() error { return c.below }

func TestMainOnlyTheCancellationIsSilent(t *testing.T) {
	s := &SignalError{syscall.SIGTERM}
	other := errors.New("disk full")
	inCircle := &circle{}
	inCircle.below = fmt.Errorf("again: %w", inCircle)
	tests := []struct {
		err    error
		code   int
		silent bool
	}{
		{s, 143, true},
		{context.Canceled, 143, true},
		{scope.WithCause(context.Canceled, s), 143, true},
		{&meanwhile.TaskError{Path: "a", Err: fmt.Errorf("read: %w", scope.WithCause(context.Canceled, s))}, 143, true},
		{errors.Join(context.Canceled, s), 143, true},
		{errors.Join(context.Canceled, s, other), 1, false},
		{other, 1, false},
		{scope.WithCause(other, s), 1, false},
		{context.DeadlineExceeded, 1, false},
		{errors.Join(s, &ExitError{Code: 7}), 7, false},
		{fmt.Errorf("load: %w", &ExitError{Code: 7}), 7, true},
		{&meanwhile.PanicError{Value: context.Canceled}, 2, false},
		{inCircle, 1, false},
	}
	for _, test := range tests {
		p := &process{stopped: s}
		if code, silent := p.exitCode(test.err); code != test.code || silent != test.silent {
			t.Errorf("%v: got %d, silent: %v, want %d, %v", test.err, code, silent, test.code, test.silent)
		}
	}
}

func TestMainName(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	for _, test := range []struct{ arg, want string }{{"/usr/bin/api", "api"}, {"api.exe", "api"}, {"./api", "api"}} {
		os.Args = []string{test.arg}
		if got := programName(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.arg, got, test.want)
		}
	}
	os.Args = nil
	if got := programName(); got != "main" {
		t.Errorf("without arguments, got %q", got)
	}
}

// Some programs send a signal to a process and then to its group: the process receives it twice.
func TestMainTakesADoubledSignalForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(time.Second)
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			p.root = scope.From(ctx)
			p.watcher.Go(p.watch)
			for range 3 {
				p.stops <- syscall.SIGTERM // a second signal would end the test's own process
				time.Sleep(doubled / 2)
			}
			return ctx.Err()
		})
		if got, ok := errors.AsType[*SignalError](err); !ok || got.Signal != syscall.SIGTERM {
			t.Errorf("got %v, want the signal as the cause", err)
		}
		close(p.over)
		p.watcher.Wait()
	})
}
