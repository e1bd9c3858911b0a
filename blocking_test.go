package meanwhile_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	. "github.com/meanwhile-go/meanwhile"
)

// mostBlocking is how many calls of Blocking run concurrently in a process, as its comment says.
const mostBlocking = 100

func TestBlockingReturnsWhatTheFunctionReturns(t *testing.T) {
	got, err := Blocking(t.Context(), func() (int, error) { return 7, io.EOF })
	if got != 7 || err != io.EOF {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestBlockingReturnsAPanic(t *testing.T) {
	_, err := Blocking(t.Context(), func() (int, error) { panic(io.EOF) })
	var p *PanicError
	if !errors.As(err, &p) || p.Value != io.EOF || !strings.Contains(string(p.Stack), "TestBlockingReturnsAPanic") {
		t.Errorf("got %v, want a PanicError with the stack", err)
	}
	_, err = Blocking(t.Context(), func() (int, error) { runtime.Goexit(); return 0, nil })
	if err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("got %v, want an error that names Goexit", err)
	}
}

// When ctx is canceled, Blocking returns immediately with the cause; the function continues and counts against the limit
// until it returns.
func TestBlockingIsAbandonedWhenCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		stuck, returned := make(chan struct{}), make(chan error, 1)
		wentOn := make(chan struct{})
		go func() {
			got, err := Blocking(ctx, func() (int, error) {
				<-stuck
				close(wentOn)
				return 7, nil
			})
			if got != 0 {
				t.Errorf("got %d with an error, want none", got)
			}
			returned <- err
		}()
		synctest.Wait()
		cancel(reason)
		if err := <-returned; !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}

		g, release, done := new(gauge), make(chan struct{}), make(chan error, mostBlocking)
		for range mostBlocking {
			go func() {
				_, err := Blocking(t.Context(), func() (struct{}, error) {
					g.add(1)
					<-release
					return struct{}{}, nil
				})
				done <- err
			}()
		}
		if got := g.now(); got != mostBlocking-1 {
			t.Errorf("%d run beside the abandoned one, want %d", got, mostBlocking-1)
		}
		close(stuck)
		<-wentOn
		if got := g.now(); got != mostBlocking {
			t.Errorf("%d run once the abandoned one has returned, want %d", got, mostBlocking)
		}
		close(release)
		for range mostBlocking {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBlockingWaitsForItsTurnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting = 20
		g, next := new(gauge), make(chan struct{})
		var order journal[int]
		for i := range mostBlocking + waiting {
			go func() {
				_, _ = Blocking(t.Context(), func() (struct{}, error) {
					g.add(1)
					order.add(i)
					<-next
					g.add(-1)
					return struct{}{}, nil
				})
			}()
			if i >= mostBlocking-1 { // from here on the order matters
				synctest.Wait()
			}
		}
		// A call that is canceled while it waits never runs.
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			_, err := Blocking(ctx, func() (struct{}, error) { t.Error("a canceled call ran"); return struct{}{}, nil })
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := g.now(); got != mostBlocking {
			t.Errorf("%d run, want %d", got, mostBlocking)
		}
		for range waiting {
			next <- struct{}{}
			synctest.Wait()
		}
		close(next)
		synctest.Wait()
		want := make([]int, waiting)
		for i := range want {
			want[i] = mostBlocking + i
		}
		if got := order.all()[mostBlocking:]; !slices.Equal(got, want) {
			t.Errorf("the waiting calls ran in the order %v, want %v", got, want)
		}
		if g.most != mostBlocking {
			t.Errorf("%d ran concurrently", g.most)
		}
	})
}
