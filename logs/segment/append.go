package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A commit is what one Append has written and is not visible yet.
type commit struct {
	*journal.Commit
	journal *journalFile
	entries []entry
	marks   []mark
}

// A mark is the number up to which the records of a client are written, with a commit.
type mark struct {
	client *client
	last   uint64
}

// Append stores batches, see [storage.Store]. It returns [logs.ErrFull] if the disk is full, and then has stored nothing of them.
// Concurrent callers share a sync. If ctx is canceled while Append waits for one, the error says that the outcome is unknown.
func (s *Store) Append(ctx context.Context, batches ...*logs.Batch) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	parts := make([]part, 0, len(batches))
	for _, b := range batches {
		if b.Count == 0 && len(b.Data) == 0 {
			continue
		}
		if err := checkBatch(b); err != nil {
			return err
		}
		// The checksum is computed first: it reads the data sequentially into the caches of the processor, and the lengths of records are
		// there then.
		crc := checksum(b.Data)
		if err := checkRecords(b); err != nil {
			return err
		}
		parts = append(parts, part{
			entry: entry{raw: uint32(len(b.Data)), stored: uint32(len(b.Data)), crc: crc, count: uint32(b.Count), min: b.Min, max: b.Max},
			name:  b.Service, client: b.Client, from: b.First, until: b.Last, data: b.Data,
		})
	}
	if err := s.waitForRoom(ctx); err != nil {
		return err
	}
	s.writing.Lock()
	c, err := s.write(parts)
	s.writing.Unlock()
	if err != nil || c == nil || s.cfg.Sync != Always {
		return err
	}
	return s.awaitCommit(ctx, c)
}

// checkBatch returns an error if a batch, apart from its records, is not valid in a journal.
func checkBatch(b *logs.Batch) error {
	if err := logs.CheckService(b.Service); err != nil {
		return err
	}
	if len(b.Data) > logs.MaxBatch {
		return fmt.Errorf("a batch of service %q has %d bytes, at most %d are allowed", b.Service, len(b.Data), logs.MaxBatch)
	}
	return nil
}

// checkRecords returns an error if the records of a batch are damaged or miscounted. It checks only their lengths.
func checkRecords(b *logs.Batch) error {
	count := 0
	for rest := b.Data; len(rest) > 0; count++ {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > logs.MaxRecord || size > uint64(len(rest)-n) {
			return fmt.Errorf("record %d of a batch of service %q is damaged", count+1, b.Service)
		}
		rest = rest[n+int(size):]
	}
	if count != b.Count {
		return fmt.Errorf("a batch of service %q says that it has %d records, and has %d", b.Service, b.Count, count)
	}
	return nil
}

// write writes a frame of the records in parts that are new, and returns the commit to wait for; if no records are new, the last one. The
// caller holds s.writing.
func (s *Store) write(parts []part) (*commit, error) {
	switch {
	case s.closed:
		return nil, logs.ErrClosed
	case s.readOnly:
		return nil, errReadOnly
	}
	if err := s.rotateIfDue(); err != nil {
		return nil, full(err)
	}
	j := s.active
	c := &commit{journal: j}
	news := parts[:0]
	for _, p := range parts {
		var from *client
		if p.client != (logs.Client{}) {
			from = s.client(p.client)
			if !p.cutKnown(from.written) {
				continue
			}
			from.written = p.until
			c.marks = append(c.marks, mark{from, p.until})
		}
		p.service = s.service(p.name)
		p.first = p.service.written + 1
		p.service.written += uint64(p.count)
		news = append(news, p)
	}
	if len(news) == 0 {
		return s.newest(), nil
	}
	s.table, s.parts = s.table[:0], s.parts[:0]
	for i := range news {
		s.table = news[i].appendTable(s.table)
		s.parts = append(s.parts, news[i].data)
		c.entries = append(c.entries, news[i].entry)
	}
	var off int64
	var err error
	c.Commit, off, err = j.Append(s.table, s.parts...)
	clear(s.parts)
	if err != nil {
		s.undo(c)
		return nil, full(err)
	}
	for i := range c.entries {
		c.entries[i].off = off
		off += int64(c.entries[i].stored)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsettled = append(s.unsettled, c)
	if s.cfg.Sync != Always {
		s.publish() // here, because s.writing keeps the journal from being closed, and from being converted without this commit
	}
	return c, nil
}

// cutKnown leaves out the records whose numbers are not above last, and reports whether any are left. If there are more numbers than
// records, it keeps as many of the newest records as may be new.
func (p *part) cutKnown(last uint64) bool {
	if p.until <= last {
		return false
	}
	if p.from > last {
		return true
	}
	keep := min(uint64(p.count), p.until-last)
	for drop := uint64(p.count) - keep; drop > 0; drop-- {
		size, n := binary.Uvarint(p.data)
		p.data = p.data[n+int(size):]
	}
	p.count, p.from = uint32(keep), last+1
	p.raw, p.stored, p.crc = uint32(len(p.data)), uint32(len(p.data)), checksum(p.data)
	return true
}

// full wraps an error that says that the disk is full in one that is logs.ErrFull, too.
func full(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", logs.ErrFull, err)
	}
	return err
}

var errReadOnly = errors.New("the store was opened for reading")
