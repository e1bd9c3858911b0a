package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// maxHistogram bounds what a histogram reads, in bytes before compression. Blocks that are counted from the table of blocks are not read.
const maxHistogram = 2 << 30

// Histogram counts the records that match, see [storage.Finder]. It counts the newest first, and is marked as partial if it had
// to read more than 2 GiB. Without a Since it begins at the oldest record, without an Until it ends with the newest.
func (s *Store) Histogram(ctx context.Context, q storage.Query, n int) (storage.Histogram, error) {
	if n < 1 || n > 100_000 {
		return storage.Histogram{}, fmt.Errorf("a histogram has 1 to 100,000 parts, not %d", n)
	}
	if err := s.usable(); err != nil {
		return storage.Histogram{}, err
	}
	shelves := s.shelves(q.Filter.Service)
	defer releaseShelves(shelves)
	w := wants(q)
	since, until := bounds(q, shelves)
	h := storage.Histogram{Since: time.Unix(0, since).UTC(), Until: time.Unix(0, until).UTC(), Buckets: make([]storage.Bucket, n)}
	width := (max(uint64(until-since), 1)-1)/uint64(n) + 1
	for i := range h.Buckets {
		h.Buckets[i].Begin = time.Unix(0, since+int64(uint64(i)*width)).UTC()
	}
	w.since, w.until = max(w.since, since), min(w.until, before(until))
	var read int64
	for _, sh := range shelves {
		if err := s.count(ctx, s.cursor(&w, sh, 0, true), &h, since, width, &read); err != nil {
			return storage.Histogram{}, err
		}
	}
	return h, nil
}

// bounds returns the times of a histogram, the second one excluded. Times that a query leaves open are those of the oldest and the newest
// record.
func bounds(q storage.Query, shelves []*shelf) (since, until int64) {
	oldest, newest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, sh := range shelves {
		for _, g := range sh.segments {
			oldest, newest = min(oldest, g.min), max(newest, g.max)
		}
		for _, p := range sh.journals {
			oldest, newest = min(oldest, p.holding.min), max(newest, p.holding.max)
		}
	}
	if oldest > newest {
		oldest = time.Now().UnixNano()
		newest = oldest
	}
	since, until = oldest, min(newest, math.MaxInt64-1)+1
	if !q.Since.IsZero() {
		since = nanoseconds(q.Since)
	}
	if !q.Until.IsZero() {
		until = nanoseconds(q.Until)
	}
	return since, max(until, since)
}

// count counts the records of one service. A block whose records are all wanted, and in one part of the time, is counted
// without reading it.
func (s *Store) count(ctx context.Context, c *cursor, h *storage.Histogram, since int64, width uint64, read *int64) error {
	defer c.close()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ok, err := c.nextBlock()
		if err != nil || !ok {
			return err
		}
		e := c.entry
		part := func(at int64) *storage.Bucket { return &h.Buckets[uint64(at-since)/width] }
		if c.want.all && e.levels != [4]uint32{} && e.min >= c.want.since && e.max <= c.want.until && part(e.min) == part(e.max) {
			b := part(e.min)
			b.Debug += int64(e.levels[0])
			b.Info += int64(e.levels[1])
			b.Warn += int64(e.levels[2])
			b.Error += int64(e.levels[3])
			continue
		}
		if *read += int64(e.raw); *read > maxHistogram {
			h.Partial = true
			return nil
		}
		if err := c.eachMoment(func(at int64, level slog.Level) { add(part(at), level) }); err != nil {
			return err
		}
	}
}

func add(b *storage.Bucket, level slog.Level) {
	switch class(level) {
	case 0:
		b.Debug++
	case 1:
		b.Info++
	case 2:
		b.Warn++
	case 3:
		b.Error++
	}
}

// eachMoment calls fn with the time and the level of each wanted record of the block that the cursor is at.
func (c *cursor) eachMoment(fn func(at int64, level slog.Level)) error {
	if c.entry.head == 0 {
		if err := c.load(); err != nil {
			return err
		}
		for c.nextRecord() {
			fn(c.view.Time, c.view.Level)
		}
		return nil
	}
	err := c.columns(func(r *columnReader, rows filter.Rows) error { return r.moments(rows, fn) })
	if errors.Is(err, errDamaged) {
		c.store.damage(c.shelf.service, c.path, c.entry.off, int64(c.entry.stored))
		return nil
	}
	return err
}

// nanoseconds returns a time as records have it; the end of their range for a time outside of it.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// before returns the nanosecond before one, or that one where there is none before it.
func before(at int64) int64 { return max(at, math.MinInt64+1) - 1 }
