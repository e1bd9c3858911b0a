package segment

import (
	"context"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A place is a position in the journals, between two entries.
type place struct {
	journal uint64 // its number
	entry   int
	seen    uint64 // records before it, since the store was opened
}

// Follow yields the records that match and come in after the call, see [storage.Finder]. It reads them from the journals; it
// misses those that were converted into segments before it reached them.
func (s *Store) Follow(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	s.mu.Lock()
	var at place
	if n := len(s.journals); n > 0 {
		j := s.journals[n-1]
		at = place{j.Number, len(j.entries), j.before + j.records}
	}
	until := make(map[string]uint64)
	for name := range q.After {
		if svc := s.services[name]; svc != nil {
			until[name] = svc.kept
		}
	}
	s.mu.Unlock()
	return func(yield func(logs.Record, error) bool) {
		f := &follower{store: s, want: wants(q), match: make(map[*service]bool), yield: yield, place: at}
		err := s.catchUp(ctx, q.After, until, f)
		for err == nil {
			err = f.step(ctx)
		}
		if !errors.Is(err, errLeft) {
			yield(logs.Record{}, err)
		}
	}
}

// catchUp yields the records of services that were stored after a number and before Follow was called.
func (s *Store) catchUp(ctx context.Context, after, until map[string]uint64, f *follower) error {
	shelves := s.shelves(func(name string) bool { return until[name] > after[name] && f.want.filter.Service(name) })
	defer releaseShelves(shelves)
	from := make(map[*service]uint64)
	for _, sh := range shelves {
		from[sh.service] = after[sh.service.name] + 1
		sh.until = until[sh.service.name]
	}
	left := false
	err := s.find(ctx, &f.want, shelves, from, func(r logs.Record, _ error) bool {
		left = !f.yield(r, nil)
		return !left
	})
	if left {
		return errLeft
	}
	return err
}

// A follower is one loop over a stream of Follow.
type follower struct {
	place
	store       *Store
	want        want
	match       map[*service]bool
	yield       func(logs.Record, error) bool
	file        window // of the journal, empty at each step: what is not visible yet may be cut off and written anew
	stored, raw []byte
}

// maxMatches bounds what a follower remembers of services.
const maxMatches = 10_000

// errLeft says that the loop has ended.
var errLeft = errors.New("left")

// step yields the wanted records that are new in one journal, or waits until there are more.
func (f *follower) step(ctx context.Context) error {
	s := f.store
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return logs.ErrClosed
	}
	if len(s.journals) == 0 { // a store that was opened for reading need not have any
		appended := s.appended
		s.mu.Unlock()
		return wait(ctx, appended)
	}
	if oldest := s.journals[0]; f.journal < oldest.Number {
		missed := oldest.before - f.seen
		f.place = place{oldest.Number, 0, oldest.before}
		if missed > 0 {
			s.mu.Unlock()
			if !f.yield(logs.Record{}, &storage.MissedError{Reason: fmt.Sprintf("too slow: %d records came in that were not looked at", missed)}) {
				return errLeft
			}
			return nil
		}
	}
	i := 0
	for s.journals[i].Number != f.journal {
		i++
	}
	j, appended := s.journals[i], s.appended
	entries := j.entries[f.entry:]
	if len(entries) == 0 {
		if i+1 < len(s.journals) {
			f.journal, f.entry = s.journals[i+1].Number, 0
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		return wait(ctx, appended)
	}
	j.Use()
	s.mu.Unlock()
	defer j.Release()
	f.file = window{file: j, b: f.file.b[:0]}
	for k := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f.entries(j, &entries[k]); err != nil {
			return err
		}
		f.entry++
		f.seen += uint64(entries[k].count)
	}
	return nil
}

// wait returns when a channel is closed, or with the cause of ctx.
func wait(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// entries yields the wanted records of one entry.
func (f *follower) entries(j *journalFile, e *entry) (err error) {
	match, known := f.match[e.service]
	if !known {
		if len(f.match) >= maxMatches {
			clear(f.match)
		}
		match = f.want.filter.Service(e.service.name)
		f.match[e.service] = match
	}
	if !match || !f.want.block(e.min, e.max, f.want.least, f.want.most) {
		return nil
	}
	if f.stored, err = e.read(&f.file, f.stored); err == nil {
		f.raw, err = e.codec.expand(f.raw, f.stored, e.raw)
	}
	if errors.Is(err, errDamaged) {
		f.store.damage(e.service, j.Path(), e.off, int64(e.stored))
		return nil
	} else if err != nil {
		return err
	}
	v := logs.View{Service: []byte(e.service.name), Number: e.first}
	for rest := f.raw; len(rest) > 0; v.Number++ {
		if rest, err = v.Next(rest); err != nil {
			f.store.damage(e.service, j.Path(), e.off, int64(e.stored))
			return nil
		}
		if f.want.record(&v) && !f.yield(v.Record(), nil) {
			return errLeft
		}
	}
	return nil
}
