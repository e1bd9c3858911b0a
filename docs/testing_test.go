package docs_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// poll asks each minute until the answer is there.
func poll(ctx context.Context, ask func() bool) error {
	for !ask() {
		if err := meanwhile.Sleep(ctx, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		asked := 0
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			return poll(ctx, func() bool { asked++; return asked == 61 })
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), time.Hour; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

func TestPollTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(ctx context.Context) error {
			return poll(ctx, func() bool { return false })
		}
		err := meanwhile.Run(t.Context(), never, meanwhile.Timeout(90*time.Second))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a deadline exceeded", err)
		}
	})
}

func TestPollCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			task := meanwhile.Go(ctx, func(ctx context.Context) error {
				return poll(ctx, func() bool { return false })
			})
			synctest.Wait() // until the task sleeps
			task.Cancel(enough)
			_, err := task.Wait(ctx)
			return err
		})
		if !errors.Is(err, enough) {
			t.Errorf("got %v, want %v", err, enough)
		}
	})
}

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowest := func(ctx context.Context, i int) (int, error) {
			return i, meanwhile.Sleep(ctx, time.Duration(10-i)*time.Second)
		}
		in := []int{1, 2, 3, 4, 5}
		start := time.Now()
		got, err := meanwhile.Collect(meanwhile.Map(t.Context(), meanwhile.From(slices.Values(in)), slowest))
		if err != nil || !slices.Equal(got, in) {
			t.Errorf("got %v, %v, want %v", got, err, in)
		}
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("took %v, want 9s, the longest wait", took)
		}
	})
}

func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe() // not a socket: synctest cannot see that one waits for a socket
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				defer client.Close()
				_, err := client.Write([]byte("hello\nworld\n"))
				return err
			})
			lines, err := meanwhile.Collect(meanwhile.Lines(ctx, server))
			if want := []string{"hello", "world"}; !slices.Equal(lines, want) {
				t.Errorf("got %q, want %q", lines, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestInTask(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			if got, want := len("abc"), 3; got != want {
				t.Errorf("got %d, want %d", got, want) // Errorf, not Fatalf: this is another goroutine
			}
			return nil
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoexit is behind what the guide says about FailNow in a task.
func TestGoexit(t *testing.T) {
	for _, option := range [][]meanwhile.TaskOption{nil, {meanwhile.Name("x")}} {
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				goexit()
				return nil
			}, option...)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), goexitMessage) {
			t.Errorf("got %v, want %q in it", err, goexitMessage)
		}
	}
}
