package cond_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

func TestBroadcastWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var changed cond.Cond
		ready, done := false, make(chan error, 2)
		for range 2 {
			go func() {
				mu.Lock()
				defer mu.Unlock()
				for !ready {
					if err := changed.Wait(t.Context(), &mu); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		synctest.Wait()
		mu.Lock()
		changed.Broadcast() // of a change that they are not waiting for
		mu.Unlock()
		synctest.Wait()
		mu.Lock()
		ready = true
		changed.Broadcast()
		mu.Unlock()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var mu sync.Mutex
	var changed cond.Cond
	mu.Lock()
	if err := changed.Wait(ctx, &mu); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if mu.TryLock() {
		t.Error("the mutex is unlocked after Wait")
	}
}

func TestSignalNeverWaits(t *testing.T) {
	c := make(chan struct{}, 1)
	cond.Signal(c)
	cond.Signal(c)
	if len(c) != 1 {
		t.Errorf("got %d values, want 1", len(c))
	}
}
