package segment

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Segments are made quickly at first, to keep up with incoming records. When few records arrive, segments of a service that follow each
// other are merged into one, which needs a third less space.
const (
	condenseBytes = 256 << 20 // of encoded records: enough for one
	condenseCount = 16        // segments: enough for one, also when they are small
)

// condenseAll makes dense segments until there is nothing to do, or a journal is to be converted.
func (s *Store) condenseAll(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		svc, some := s.toCondense(time.Now())
		waiting := len(s.journals) > 1
		s.mu.Unlock()
		if some == nil || waiting {
			return
		}
		if err := s.condense(ctx, svc, some); err != nil {
			if ctx.Err() == nil {
				s.log().Error("segments stay as they are", "service", svc.name, "segments", len(some), "error", err)
			}
			if !errors.Is(err, errDamaged) {
				return
			}
			s.mu.Lock()
			for _, g := range some {
				g.asIs = true
			}
			s.mu.Unlock()
		}
	}
}

// toCondense finds segments that are to be merged into one. The caller holds s.mu.
func (s *Store) toCondense(now time.Time) (*service, []*segment) {
	for _, svc := range s.services {
		for i := 0; i < len(svc.segments); i++ {
			begin := i
			var raw int64
			for i < len(svc.segments) && i-begin < condenseCount && raw < condenseBytes {
				g := svc.segments[i]
				if g.codec == dense || g.asIs || !sameDay(g.made, svc.segments[begin].made) {
					break
				}
				raw += g.raw
				i++
			}
			if i > begin && (raw >= condenseBytes || i-begin >= condenseCount || !sameDay(svc.segments[begin].made, now)) {
				return svc, svc.segments[begin:i]
			}
			if i > begin {
				i-- // another run may start here
			}
		}
	}
	return nil, nil
}

// condense merges segments that follow each other into one. If the process dies in between, the records are in both, and the duplicates
// are left out when the store is opened.
func (s *Store) condense(ctx context.Context, svc *service, some []*segment) error {
	newest := some[len(some)-1]
	path := strings.TrimSuffix(filepath.Join(filepath.Dir(newest.path), segmentName(some[0].first, newest.made, newest.journal)), ".segment") + "-dense.segment"
	w, err := newWriter(&s.disk, path, &segment{service: svc.name, journal: newest.journal, made: newest.made, unsure: newest.unsure, codec: dense})
	if err != nil {
		return err
	}
	g, err := s.make(ctx, w, s.recut(some))
	if err != nil {
		return err
	}
	if err := s.disk.SyncFolder(filepath.Dir(g.path)); err != nil {
		_ = s.disk.Remove(g.path)
		return err
	}
	s.mu.Lock()
	i := slices.Index(svc.segments, some[0])
	svc.segments = slices.Replace(slices.Clone(svc.segments), i, i+len(some), g)
	s.mu.Unlock()
	for _, old := range some {
		old.release()
	}
	return nil
}
