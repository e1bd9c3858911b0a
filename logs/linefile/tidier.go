package linefile

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A tidier compresses and deletes the rotated files of one line file, in at most one task at a time: two would compress a file into the
// same other file.
type tidier struct {
	conf    *atomic.Pointer[Config]
	path    string
	trusted func() bool // reports whether the clock can be trusted

	mu         sync.Mutex
	busy       bool
	again      bool                 // whether another file was rotated while the task runs
	unsureAges map[string]time.Time // when files were rotated while the clock was not trusted, so that their modification times may be wrong
}

// rotated notes a file that was rotated, and reports whether the caller has to start run: false if a task runs already.
func (t *tidier) rotated(name string) bool {
	right := t.trusted()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !right && t.conf.Load().MaxAge > 0 {
		if t.unsureAges == nil {
			t.unsureAges = make(map[string]time.Time)
		}
		t.unsureAges[name] = time.Now()
	}
	begin := !t.busy
	t.busy, t.again = true, !begin
	return begin
}

// run tidies until nothing more is rotated, or until ctx is canceled.
func (t *tidier) run(ctx context.Context) (err error) {
	for more := true; more; {
		now, right := time.Now(), t.trusted()
		err = errors.Join(err, t.correctAges(now, right), t.conf.Load().tidy(ctx, t.path, now, right))
		t.mu.Lock()
		more = t.again && ctx.Err() == nil
		t.busy, t.again = more, false
		t.mu.Unlock()
	}
	return err
}

// correctAges sets the modification times of files that were rotated while the clock was not trusted, once it is. Until then it only
// forgets files that are gone.
func (t *tidier) correctAges(now time.Time, right bool) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, rotated := range t.unsureAges {
		there := name
		if !exists(there) {
			there += zstdExtension
		}
		if right && exists(there) {
			at := now.Add(-now.Sub(rotated)) // by the current clock: the time in between is measured by the monotonic clock
			err = errors.Join(err, os.Chtimes(there, at, at))
		}
		if right || !exists(there) {
			delete(t.unsureAges, name)
		}
	}
	return err
}
