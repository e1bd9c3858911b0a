//go:build unix

package redis_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// pauseServer stops the process of a server, as a machine does that hangs, until the returned function is called or the test ends.
func pauseServer(t *testing.T, s *server) (resume func()) {
	t.Helper()
	process := s.command.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume = func() { _ = process.Signal(syscall.SIGCONT) } // it may have ended
	t.Cleanup(resume)
	return resume
}

// TestWaitWhileTheServerHangs: Wait returns when its ctx ends, and Close soon, whether the server hangs before the first Wait or after it. Once the
// server continues, waits receive notifications again.
func TestWaitWhileTheServerHangs(t *testing.T) {
	for name, before := range map[string]bool{"before the first wait": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := ownServer(t)
			s := open(t, "redis://"+server.address())
			wait := func(d time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				_, err := s.Wait(ctx, job.DefaultQueue)
				return err
			}
			if !before {
				for wait(100*time.Millisecond) == nil { // until it listens
				}
			}
			resume := pauseServer(t, server)
			for begun := time.Now(); time.Since(begun) < 18*time.Second; { // longer than a connection without answers is kept
				from := time.Now()
				err := wait(200 * time.Millisecond)
				if took := time.Since(from); took > 3*time.Second || err == nil {
					t.Errorf("a wait of 200 ms took %v: %v", took, err)
				}
				if !errors.Is(err, context.DeadlineExceeded) { // the attempt to connect failed
					time.Sleep(50 * time.Millisecond)
				}
			}
			resume()
			eventually(t, func() bool { return wait(time.Second) == nil })
			for wait(100*time.Millisecond) == nil {
			}
			eventually(t, func() bool {
				_, err := s.Insert(t.Context(), newJob(t, "k"))
				return err == nil
			})
			if err := wait(4 * time.Second); err != nil {
				t.Errorf("wait for a job after the server continues: %v", err)
			}

			pauseServer(t, server)
			waited := make(chan error, 1)
			go func() {
				_, err := s.Wait(t.Context(), job.DefaultQueue)
				waited <- err
			}()
			time.Sleep(100 * time.Millisecond)
			from := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(from); took > 8*time.Second { // one for each connection
				t.Errorf("Close took %v", took)
			}
			if err := <-waited; !errors.Is(err, job.ErrClosed) {
				t.Errorf("a wait during Close: %v", err)
			}
		})
	}
}
