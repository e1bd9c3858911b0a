//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	. "github.com/meanwhile-go/meanwhile/process"
)

// send sends signals to the test's own process, one after the other, and returns when all channels registered for them have
// received them.
func send(t *testing.T, sigs ...syscall.Signal) {
	t.Helper()
	for _, sig := range sigs {
		came := make(chan os.Signal, 1)
		signal.Notify(came, sig)
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-came
		signal.Notify(came, sig) // waits until package signal has delivered it
		signal.Stop(came)
	}
}

func TestOnSignalCallsForEach(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		calls := make(chan os.Signal)
		OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
			calls <- sig
			return nil
		}, syscall.SIGUSR1, syscall.SIGUSR2)
		for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR1} {
			send(t, sig)
			if got := <-calls; got != sig {
				t.Errorf("called with %v, want %v", got, sig)
			}
		}
		return nil // the background task is canceled then
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOnSignalKeepsOneOfEachKind(t *testing.T) {
	g := new(gauge)
	var calls journal[os.Signal]
	err := Run(t.Context(), func(ctx context.Context) error {
		begun, goOn, three := make(chan struct{}, 3), make(chan struct{}), make(chan struct{})
		OnSignal(ctx, func(ctx context.Context, sig os.Signal) error {
			g.add(1)
			defer g.add(-1)
			calls.add(sig)
			begun <- struct{}{}
			<-goOn
			if len(calls.all()) == 3 {
				close(three)
			}
			return nil
		}, syscall.SIGUSR1, syscall.SIGUSR2)
		send(t, syscall.SIGUSR1)
		<-begun
		send(t, syscall.SIGUSR2, syscall.SIGUSR2, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR1)
		close(goOn)
		<-three
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	got := calls.all()
	slices.SortFunc(got[1:], func(a, b os.Signal) int { return int(a.(syscall.Signal)) - int(b.(syscall.Signal)) })
	if want := []os.Signal{syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR2}; !slices.Equal(got, want) {
		t.Errorf("called with %v, want %v", got, want)
	}
	if g.most != 1 {
		t.Errorf("%d calls ran concurrently", g.most)
	}
}

func TestOnSignalEnds(t *testing.T) {
	tests := []struct {
		name    string
		returns error
		want    error
	}{
		{"with Stop", Stop, nil},
		{"with a wrapped Stop", fmt.Errorf("enough: %w", Stop), nil},
		{"with a failure", errTooMuch, errTooMuch},
		{"with a failure beside Stop", errors.Join(Stop, errTooMuch), errTooMuch},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls := make(chan int, 2)
			err := Run(t.Context(), func(ctx context.Context) error {
				n := 0
				task := OnSignal(ctx, func(context.Context, os.Signal) error {
					n++
					calls <- n
					if n == 2 {
						return test.returns
					}
					return nil
				}, syscall.SIGUSR1)
				for want := range 2 {
					send(t, syscall.SIGUSR1)
					if got := <-calls; got != want+1 {
						t.Errorf("call %d, want %d", got, want+1)
					}
				}
				<-task.Done()
				return nil
			})
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestOnSignalEndsWithItsScope(t *testing.T) {
	var cause error
	err := Run(t.Context(), func(ctx context.Context) error {
		begun := make(chan struct{})
		OnSignal(ctx, func(ctx context.Context, _ os.Signal) error {
			close(begun)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		}, syscall.SIGUSR1)
		send(t, syscall.SIGUSR1)
		<-begun
		return nil
	})
	if err != nil || cause == nil {
		t.Errorf("got %v, the call that ran was canceled with cause %v", err, cause)
	}
}

func TestOnSignalEndsWhenItIsCanceled(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		task := OnSignal(ctx, nothing, syscall.SIGUSR1)
		task.Cancel(nil)
		<-task.Done()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func nothing(context.Context, os.Signal) error { return nil }

func TestOnSignalInTheTree(t *testing.T) {
	_ = Run(t.Context(), func(ctx context.Context) error {
		OnSignal(ctx, nothing, syscall.SIGHUP)
		OnSignal(ctx, nothing, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGHUP)
		tasks := Tree(ctx).Tasks
		for i, want := range []string{"on hangup", "on hangup, user defined signal 1"} {
			if tasks[i].Name != want {
				t.Errorf("got %q, want %q", tasks[i].Name, want)
			}
		}
		for started := time.Now(); Tree(ctx).Tasks[0].Wait.For != "signal"; runtime.Gosched() {
			if time.Since(started) > 10*time.Second {
				t.Fatalf("got %+v, want a wait for a signal", Tree(ctx).Tasks[0].Wait)
			}
		}
		return nil
	})
}

// A function that is called late, or never in a test, is checked immediately.
func TestNilFunctionsPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"meanwhile: OnSignal with a nil function: give the one to call for each signal": func() { OnSignal(t.Context(), nil, syscall.SIGUSR1) },
		"meanwhile: AtExit with a nil function: give the one to call at the exit":       func() { AtExit(nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}()
			f()
		}()
	}
}

func TestOnSignalMisused(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		OnSignal(ctx, nothing)
		return nil
	})
	if got, ok := errors.AsType[*PanicError](err); !ok || !strings.HasPrefix(fmt.Sprint(got.Value), "meanwhile: OnSignal without signals: ") {
		t.Errorf("without signals: %v", err)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "outside a scope") {
			t.Errorf("outside a scope: %v", got)
		}
	}()
	OnSignal(t.Context(), nothing, syscall.SIGUSR1)
}
