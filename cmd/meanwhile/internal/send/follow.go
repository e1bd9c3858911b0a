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

// Bounds of following files.
const (
	mostFiles     = 1000            // followed at once; further ones wait until one of them has gone
	readSize      = 64 << 10        // bytes that are read at once
	roundSize     = 1 << 20         // bytes of one file before the next one is read
	scanEvery     = time.Second / 2 // between scans for new and rotated files
	readEvery     = time.Second / 4 // between reads of files that had nothing new
	saveEvery     = time.Second     // between the saves of positions, and
	saveSize      = 1 << 20         // bytes that are read between them at most
	goneFor       = time.Minute     // without a byte, after which a file that was renamed or deleted is closed
	mostPositions = 10_000          // that are kept, with those of files that are not there at present
)

// A follower sends the lines of files that match patterns, as they are written. It reads no further than records are taken, so that
// the files are the buffer while the server is away, and notes the positions up to which the server has acknowledged all.
type follower struct {
	patterns []string
	open     func(path string, take func(*logs.View)) *lines // the lines of a file
	send     func(v *logs.View) error                        // an error ends the following
	flush    func(ctx context.Context) error                 // returns when the server has acknowledged all that was sent
	state    *followState
	problems func(format string, args ...any)

	buf   []byte
	since int // bytes that were read since positions were saved, and one for each record or file that ended without any
	saved time.Time

	mu    sync.Mutex
	files []*followed

	failingMu sync.Mutex
	failing   map[string]string // what was reported of a path
}

// run follows until ctx is canceled. Then it saves the positions, when the server acknowledges what was sent within the grace.
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
		}, meanwhile.Name("scan")) // on its own, as files rotate while the server is away
		return f.read(ctx)
	}, meanwhile.Name("follow"))
	if err != nil && ctx.Err() == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = f.save(last)
	if pending, ok := errors.AsType[*logs.PendingError](err); ok {
		f.problems("%d records are not acknowledged; they are read again by the next that has this --state", pending.Memory)
		return nil
	}
	return err
}

// read reads what is new, again and again.
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

// round reads each file once, and returns how many bytes were new. Those that are gone it closes.
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
			f.since++ // the position has moved
		}
		if file.failed != nil {
			return n, file.failed
		}
		if file.over(now) {
			file.end()
			if file.failed != nil {
				return n, file.failed
			}
			f.since++ // its position is to be saved
			f.forget(file)
		}
	}
	return n, nil
}

// save saves the positions up to which all is sent, once the server has that.
func (f *follower) save(ctx context.Context) error {
	positions := make([]position, 0, mostFiles)
	for _, file := range f.all() {
		positions = append(positions, file.position())
	}
	if err := f.flush(ctx); err != nil {
		return err
	}
	f.since, f.saved = 0, time.Now()
	return f.state.save(positions)
}

// scan looks for files that match, and for those that do no more.
func (f *follower) scan(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[*followed]bool{}
	for _, pattern := range f.patterns {
		paths, _ := filepath.Glob(pattern) // which was checked
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

// resume opens the files that have positions, the oldest first: also those that were renamed since and match no more, as their ends
// are not sent yet.
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
			if info, err := os.Stat(path); err == nil && f.state.knows(info) { // also behind a symbolic link
				all = append(all, known{path, info.ModTime()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b known) int { return a.changed.Compare(b.changed) })
	for _, k := range all {
		f.find(k.path)
	}
}

// find returns the file that a path leads to now, and opens one that is new. The mutex is held.
func (f *follower) find(path string) *followed {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // which may be gone again
	}
	for _, file := range f.files {
		if os.SameFile(info, file.info) {
			file.rename(path)
			return file
		}
	}
	if len(f.files) >= mostFiles {
		f.report(path, fmt.Errorf("%d files are followed already, so it waits until one of them has gone", mostFiles))
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

func (f *follower) forget(file *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = file.f.Close() // it was only read
	f.files = slices.DeleteFunc(f.files, func(other *followed) bool { return other == file })
}

func (f *follower) close() {
	for _, file := range f.all() {
		_ = file.f.Close()
	}
}

// report reports trouble with a path, once.
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
