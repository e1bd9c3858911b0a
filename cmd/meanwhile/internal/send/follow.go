package send

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
)

// Limits of following files.
const (
	mostFiles     = 1000            // followed concurrently; further ones wait until one of them is gone
	readSize      = 64 << 10        // bytes per read
	roundSize     = 1 << 20         // bytes read from one file before the next one
	scanEvery     = time.Second / 2 // between scans for new and rotated files
	readEvery     = time.Second / 4 // between reads if no file had new data
	saveEvery     = time.Second     // maximum time between saves of positions, unless nothing was read
	saveSize      = 1 << 20         // bytes read between saves of positions
	goneFor       = time.Minute     // time without new data after which a renamed or deleted file is closed
	mostPositions = 10_000          // positions that are kept, including those of files that do not exist at present
	mostOver      = 1000            // of those, the positions of files that were closed because they were gone
)

// A follower sends the lines of files that match patterns, as they are written. It reads only as far as records are accepted, so
// that the files are the buffer while the server is unavailable, and saves the positions up to which the server has acknowledged
// everything.
type follower struct {
	patterns []string
	open     func(path string, take func(*logs.View)) *lines // returns the lines of a file
	send     func(v *logs.View) error                        // an error ends run
	flush    func(ctx context.Context) error                 // returns when the server has acknowledged all that was sent
	state    *followState
	problems func(format string, args ...any)

	buf   []byte
	since int // bytes read since positions were saved, plus one for each other change of a position
	saved time.Time

	mu    sync.Mutex
	files []*followed

	failingMu sync.Mutex
	failing   map[string]string // the last problem reported for a path
}

// run follows until ctx is canceled. Then it saves the positions if the server acknowledges all sent records within the grace period.
func (f *follower) run(ctx context.Context, grace time.Duration) error {
	f.buf = make([]byte, readSize)
	f.saved = time.Now()
	defer f.close()
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		f.resume()
		f.scan(time.Now())
		meanwhile.Every(ctx, scanEvery, func(context.Context) error {
			f.scan(time.Now())
			return nil
		}, meanwhile.Name("scan")) // a separate task, since files also rotate while the server is unavailable
		return f.read(ctx)
	}, meanwhile.Name("follow"))
	if err != nil && ctx.Err() == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = f.save(last)
	if pending, ok := errors.AsType[*logs.PendingError](err); ok {
		f.problems("%d records are not acknowledged; the next process with this --state reads them again", pending.Memory)
		return nil
	}
	return err
}

// read reads new data in a loop.
func (f *follower) read(ctx context.Context) error {
	for {
		n, err := f.round(time.Now())
		if err != nil {
			return err
		}
		if f.since += n; f.since >= saveSize || f.since > 0 && time.Since(f.saved) >= saveEvery {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
		if n == 0 {
			if err := meanwhile.Sleep(ctx, readEvery); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// round reads each file once, and returns the number of new bytes. It closes files that are gone.
func (f *follower) round(now time.Time) (n int, err error) {
	for _, file := range f.all() {
		for read := 0; read < roundSize; {
			size, err := file.read(f.buf, now)
			read, n = read+size, n+size
			if file.failed != nil {
				return n, file.failed
			}
			f.report(file.name(), err)
			if size < len(f.buf) {
				break
			}
		}
		if file.idle(now) {
			f.since++ // the position has changed
		}
		if file.failed != nil {
			return n, file.failed
		}
		if file.over(now) {
			file.end()
			if file.failed != nil {
				return n, file.failed
			}
			f.since++ // its position must be saved
			f.forget(file)
		}
	}
	return n, nil
}

// save saves the positions up to which everything was sent, when the server has acknowledged that.
func (f *follower) save(ctx context.Context) error {
	positions := f.positions()
	if err := f.flush(ctx); err != nil {
		return err
	}
	f.since, f.saved = 0, time.Now()
	return f.state.save(positions)
}

// positions returns the positions of all files, whether they are open or not: one that is found later, while a save waits, is among them.
func (f *follower) positions() []position {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := make([]position, 0, mostFiles)
	for _, file := range f.files {
		open = append(open, file.position())
	}
	return f.state.with(open)
}

// scan finds files that match, and those that no longer do.
func (f *follower) scan(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[*followed]bool{}
	for _, pattern := range f.patterns {
		paths, _ := filepath.Glob(pattern) // the pattern was checked
		for _, path := range paths {
			if file := f.find(path); file != nil {
				found[file] = true
			}
		}
	}
	for _, file := range f.files {
		file.matches(found[file], now)
	}
}

// resume opens the files that have positions, the oldest first. This includes files that were renamed in the meantime and no longer
// match, since their rest is not sent yet.
func (f *follower) resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	type known struct {
		path    string
		changed time.Time
	}
	var all []known
	for _, folder := range f.state.folders() {
		entries, err := os.ReadDir(folder)
		f.report(folder, err)
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			if info, err := os.Stat(path); err == nil && f.state.knows(info) { // follows symbolic links
				all = append(all, known{path, info.ModTime()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b known) int { return a.changed.Compare(b.changed) })
	for _, k := range all {
		f.find(k.path)
	}
}

// find returns the file that a path leads to now, and opens a new file. The caller holds the mutex.
func (f *follower) find(path string) *followed {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // the file may be gone again
	}
	for _, file := range f.files {
		if os.SameFile(info, file.info) {
			file.rename(path)
			return file
		}
	}
	if len(f.files) >= mostFiles {
		f.report(path, fmt.Errorf("%d files are followed already; this one is followed when one of them is gone", mostFiles))
		return nil
	}
	file, err := openFollowed(path, f.state.takePosition)
	f.report(path, err)
	if err != nil {
		return nil
	}
	file.lines = f.open(path, func(v *logs.View) {
		if file.failed == nil {
			file.failed = f.send(v)
		}
	})
	f.files = append(f.files, file)
	return file
}

func (f *follower) all() []*followed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// forget closes a file. Its position is kept unless the file is deleted: it may be back, as after the outage of a mount.
func (f *follower) forget(file *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := file.f.Stat(); err == nil && exists(info) {
		f.state.keep(file.position())
	}
	_ = file.f.Close() // it was only read
	f.files = slices.DeleteFunc(f.files, func(other *followed) bool { return other == file })
}

func (f *follower) close() {
	for _, file := range f.all() {
		_ = file.f.Close()
	}
}

// report reports a problem with a path, once.
func (f *follower) report(path string, err error) {
	f.failingMu.Lock()
	defer f.failingMu.Unlock()
	if err == nil {
		delete(f.failing, path)
		return
	}
	if f.failing == nil || len(f.failing) >= mostPositions {
		f.failing = map[string]string{}
	}
	if text := err.Error(); f.failing[path] != text {
		f.failing[path] = text
		f.problems("%s", probe.Printable(path+": "+text))
	}
}
