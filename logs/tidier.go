package logs

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A tidier sees to the turned files of one line file, in one task at once: two would compress one file into the same other one.
type tidier struct {
	conf  *atomic.Pointer[LineFile]
	path  string
	right func() bool // reports whether the clock is

	mu     sync.Mutex
	busy   bool
	again  bool                 // more was turned meanwhile
	unsure map[string]time.Time // when files were turned whose own times may be of a clock that was not right
}

// turned is told of a file, and reports whether run is to be called, as nobody does.
func (t *tidier) turned(name string) bool {
	right := t.right()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !right && t.conf.Load().MaxAge > 0 {
		if t.unsure == nil {
			t.unsure = make(map[string]time.Time)
		}
		t.unsure[name] = time.Now()
	}
	begin := !t.busy
	t.busy, t.again = true, !begin
	return begin
}

// run tidies until nothing more is turned.
func (t *tidier) run() (err error) {
	for more := true; more; {
		now, right := time.Now(), t.right()
		err = errors.Join(err, t.makeSure(now, right), t.conf.Load().tidy(t.path, now, right))
		t.mu.Lock()
		more = t.again
		t.busy, t.again = more, false
		t.mu.Unlock()
	}
	return err
}

// makeSure has the age of files count from when they were turned, where their own times may be of a wrong clock. While the clock is
// not right, it forgets those that are gone.
func (t *tidier) makeSure(now time.Time, right bool) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, turned := range t.unsure {
		there := name
		if !exists(there) {
			there += zstdExtension
		}
		if right && exists(there) {
			at := now.Add(-now.Sub(turned)) // by the clock of now: the time in between is monotonic
			err = errors.Join(err, os.Chtimes(there, at, at))
		}
		if right || !exists(there) {
			delete(t.unsure, name)
		}
	}
	return err
}
