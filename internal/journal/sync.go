package journal

import (
	"context"
	"fmt"
	"slices"
)

// A Commit is the outcome of a frame that was appended: whether it counts.
type Commit struct {
	file *File
	end  int64

	// Guarded by the file's mu.
	done bool
	err  error
}

// Wait returns nil when the frame counts, or an error if it never will because it is cut off. Concurrent callers share a sync. If ctx is canceled,
// the outcome is open.
func (c *Commit) Wait(ctx context.Context) error {
	f := c.file
	f.mu.Lock()
	defer f.mu.Unlock()
	for !c.done {
		if err := f.join(ctx); err != nil {
			return fmt.Errorf("it was being written, the outcome is open: %w", err)
		}
	}
	return c.err
}

// Outcome reports whether the outcome is known, and the error of a frame that will never count.
func (c *Commit) Outcome() (known bool, err error) {
	c.file.mu.Lock()
	defer c.file.mu.Unlock()
	return c.done, c.err
}

// End returns where the frame ends.
func (c *Commit) End() int64 { return c.end }

// Sync returns when all frames that count, and those whose [Commit] is still open, are on disk.
func (f *File) Sync(ctx context.Context) error {
	f.mu.Lock()
	if n := len(f.waiting); n > 0 {
		last := f.waiting[n-1]
		f.mu.Unlock()
		return last.Wait(ctx)
	}
	defer f.mu.Unlock()
	if f.folder.Durable {
		return nil
	}
	for end := f.size; f.synced < end && f.failed == nil; {
		if err := f.join(ctx); err != nil {
			return err
		}
	}
	return f.failed
}

// join syncs, or waits for the current sync. The caller holds mu, which is released during the sync.
func (f *File) join(ctx context.Context) error {
	syncing := f.syncing
	if syncing == nil {
		f.lead()
		return nil
	}
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-syncing:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lead syncs what has been written so far. The caller holds mu, which is released during the sync.
func (f *File) lead() {
	syncing := make(chan struct{})
	f.syncing = syncing
	end, n := f.size, len(f.waiting)
	f.Use()
	f.mu.Unlock()
	err := f.folder.Disk.Sync(f.file)
	gone := f.inPlace()
	f.Release()
	f.mu.Lock()
	if gone != nil {
		f.gone, err = true, gone
	}
	f.syncing = nil
	close(syncing)
	if err == nil {
		f.synced = end
		for _, c := range f.waiting[:n] {
			c.done = true
		}
		f.waiting = slices.Delete(f.waiting, 0, n)
		return
	}
	f.failed = fmt.Errorf("sync journal: %w", err)
	for _, c := range f.waiting {
		c.done, c.err = true, f.failed
	}
	f.waiting = nil
}
