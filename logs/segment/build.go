package segment

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// convertJournals converts journals into segments until ctx is canceled.
func (s *Store) convertJournals(ctx context.Context) error {
	defer close(s.stopped)
	ticker := time.NewTicker(s.checkInterval())
	defer ticker.Stop()
	busy := true // whether a journal was closed since the last check
	for {
		if err := s.convertAll(ctx); err != nil && ctx.Err() == nil {
			s.log().Error("a journal cannot be converted into segments; it stays, and is tried again", "error", err)
		}
		if !busy {
			s.condenseAll(ctx)
		}
		s.prune(time.Now(), s.clockTrusted())
		select {
		case <-s.due:
			busy = true
		case <-ticker.C:
			busy = len(s.due) > 0
			s.writing.Lock()
			if !s.closed {
				if err := s.rotateIfDue(); err != nil {
					s.log().Error("the journal cannot be closed", "error", err)
				}
			}
			s.writing.Unlock()
		case <-ctx.Done():
			return nil
		}
	}
}

// checkInterval returns how often the age of the journal and of segments is checked.
func (s *Store) checkInterval() time.Duration {
	return min(max(s.cfg.JournalAge/10, time.Second), time.Minute)
}

// convertAll converts all journals but the active one, and wakes those who wait for space.
func (s *Store) convertAll(ctx context.Context) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		if len(s.journals) < 2 {
			s.convertErr = nil
			s.mu.Unlock()
			return nil
		}
		j := s.journals[0]
		s.mu.Unlock()
		err := s.buildSegments(ctx, j)
		s.mu.Lock()
		s.convertErr = err
		close(s.segmentsBuilt)
		s.segmentsBuilt = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// buildSegments makes segments of a journal, one for each service, and deletes it. Whatever happens on the way, each record is in one or
// the other: the journal is deleted when all its segments are on disk with their names. If the process dies before that, the records that
// are in both are recognized by their numbers when the store is opened.
func (s *Store) buildSegments(ctx context.Context, j *journalFile) (err error) {
	made := make(map[*service]*segment)
	defer func() {
		if err != nil {
			for _, g := range made {
				_ = s.disk.Remove(g.path)
			}
		}
	}()
	services := slices.SortedFunc(maps.Keys(j.services), func(a, b *service) int { return strings.Compare(a.name, b.name) })
	for _, svc := range services {
		g, err := s.convertService(ctx, j, svc)
		if err != nil {
			return fmt.Errorf("turn journal %s: service %q: %w", j.Path(), svc.name, err)
		}
		if g != nil {
			made[svc] = g
		}
	}
	for _, g := range made {
		if err := s.disk.SyncFolder(filepath.Dir(g.path)); err != nil {
			return err
		}
	}
	s.writing.Lock()
	err = s.writeCheckpoint()
	s.writing.Unlock()
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	s.mu.Lock()
	for svc, g := range made {
		svc.segments = append(slices.Clip(svc.segments), g)
	}
	s.journals = slices.Clone(s.journals[1:])
	s.mu.Unlock()
	j.Release()
	if err := j.Remove(); err != nil {
		s.log().Error("a journal that was converted cannot be deleted", "error", err)
	}
	return nil
}

// convertService makes the segment of one service; none if nothing can be read.
func (s *Store) convertService(ctx context.Context, j *journalFile, svc *service) (*segment, error) {
	dir := s.path("services", escapeName(svc.name))
	if err := s.disk.Mkdir(dir); err != nil {
		return nil, err
	}
	first := j.entries[j.services[svc].index[0]].first
	w, err := newWriter(&s.disk, filepath.Join(dir, segmentName(first, j.Made, j.Number)), &segment{service: svc.name, journal: j.Number, made: time.Now(), unsure: !s.clockTrusted(), codec: quick})
	if err != nil {
		return nil, err
	}
	return s.make(ctx, w, s.cut(j, svc))
}

// make writes a segment of blocks, several of which are compressed at once; none if there are no blocks.
func (s *Store) make(ctx context.Context, w *writer, in meanwhile.Stream[*block]) (*segment, error) {
	blocks := meanwhile.Map(ctx, in, func(_ context.Context, b *block) (*block, error) {
		b.close(w.codec)
		return b, nil
	}, meanwhile.Name("block"), meanwhile.Limit(runtime.GOMAXPROCS(0)), meanwhile.Window(2*runtime.GOMAXPROCS(0)))
	for b, err := range blocks {
		if err == nil {
			err = w.add(b)
			putBlock(b)
		}
		if err != nil {
			w.abandon()
			return nil, err
		}
	}
	if w.blocks == 0 {
		w.abandon()
		return nil, nil
	}
	g, err := w.finish()
	if err != nil {
		return nil, err
	}
	s.own(g)
	return g, nil
}

// own sets the function that deletes a segment's file when it is no longer used.
func (s *Store) own(g *segment) {
	g.remove = func() {
		if err := s.disk.Remove(g.path); err != nil {
			s.log().Error("a segment cannot be deleted", "error", err)
		}
	}
}

func segmentName(first uint64, day time.Time, journal uint64) string {
	return fmt.Sprintf("%020d-%s-%012d.segment", first, day.UTC().Format("20060102"), journal)
}
