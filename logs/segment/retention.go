package segment

import (
	"cmp"
	"slices"
	"time"
)

// arrange sorts the segments of a service that was just read, and leaves out those whose records are in another one too.
func (s *Store) arrange(svc *service) {
	slices.SortFunc(svc.segments, func(a, b *segment) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.until, a.until), cmp.Compare(b.codec, a.codec))
	})
	var kept []*segment
	for _, g := range svc.segments {
		s.own(g)
		if n := len(kept); n > 0 && g.until <= kept[n-1].until {
			if !s.readOnly {
				g.release()
			}
			continue
		}
		kept = append(kept, g)
		svc.kept = max(svc.kept, g.until)
	}
	svc.segments = kept
}

// turned returns the number of the last record that is in a segment.
func (svc *service) turned() uint64 {
	if len(svc.segments) == 0 {
		return 0
	}
	return svc.segments[len(svc.segments)-1].until
}

// prune deletes the segments that nobody wants to keep; for their age only by a clock that is right. It is called by who condenses,
// or while nobody does.
func (s *Store) prune(now time.Time, right bool) {
	s.mu.Lock()
	var doomed []*segment
	var total int64
	for _, j := range s.journals {
		total += j.kept
	}
	for _, svc := range s.services {
		keep := s.cfg.retention(svc.name)
		var size int64
		for _, g := range svc.segments {
			size += g.size
		}
		for len(svc.segments) > 0 {
			g := svc.segments[0]
			if !(right && keep.Age > 0 && now.Sub(g.made) > keep.Age) && !(keep.Bytes > 0 && size > keep.Bytes) {
				break
			}
			size -= g.size
			doomed = append(doomed, svc.takeOldest())
		}
		total += size
	}
	for s.cfg.Bytes > 0 && total > s.cfg.Bytes {
		var oldest *service
		for _, svc := range s.services {
			if len(svc.segments) > 0 && (oldest == nil || svc.segments[0].made.Before(oldest.segments[0].made)) {
				oldest = svc
			}
		}
		if oldest == nil {
			break
		}
		g := oldest.takeOldest()
		total -= g.size
		doomed = append(doomed, g)
	}
	s.mu.Unlock()
	for _, g := range doomed {
		g.release()
	}
}

// takeOldest takes out the oldest segment.
func (svc *service) takeOldest() *segment {
	g := svc.segments[0]
	svc.segments = slices.Clone(svc.segments[1:])
	return g
}
