package segment

import (
	"cmp"
	"container/heap"
	"path/filepath"
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

// lastInSegments returns the number of the last record that is in a segment.
func (svc *service) lastInSegments() uint64 {
	if len(svc.segments) == 0 {
		return 0
	}
	return svc.segments[len(svc.segments)-1].until
}

// prune deletes the segments that exceed their retention. Their age counts only if the clock is trusted, and was when they were made: the
// age of other segments counts from when it is. prune is not called while segments are condensed.
func (s *Store) prune(now time.Time, right bool) {
	if right {
		s.makeSure(now)
	}
	s.mu.Lock()
	var doomed []*segment
	var left byOldest
	var total int64
	for _, j := range s.journals {
		total += j.kept
	}
	for _, svc := range s.services {
		keep := s.cfg.retention(svc.name)
		var size int64
		for _, g := range svc.segments {
			size += g.onDisk()
		}
		for len(svc.segments) > 0 {
			g := svc.segments[0]
			if !(right && keep.Age > 0 && now.Sub(g.made) > keep.Age) && !(keep.Bytes > 0 && size > keep.Bytes) {
				break
			}
			size -= g.onDisk()
			doomed = append(doomed, svc.takeOldest())
		}
		total += size
		if len(svc.segments) > 0 {
			left = append(left, svc)
		}
	}
	if s.cfg.Bytes > 0 && total > s.cfg.Bytes {
		heap.Init(&left)
	}
	for s.cfg.Bytes > 0 && total > s.cfg.Bytes && len(left) > 0 {
		g := left[0].takeOldest()
		total -= g.onDisk()
		doomed = append(doomed, g)
		if len(left[0].segments) == 0 {
			heap.Pop(&left)
		} else {
			heap.Fix(&left, 0)
		}
	}
	empty := make(map[string]struct{})
	for _, g := range doomed {
		if len(s.services[g.service].segments) == 0 {
			empty[filepath.Dir(g.path)] = struct{}{}
		}
	}
	s.mu.Unlock()
	for _, g := range doomed {
		g.release()
	}
	for dir := range empty {
		_ = s.disk.Remove(dir) // a file that a search still reads keeps the folder until the store is opened again
	}
}

// makeSure makes the age of segments that were made by a clock that was not trusted count from now. So it does for segments with a later
// time: a clock that was ahead may have been trusted.
func (s *Store) makeSure(now time.Time) {
	s.mu.Lock()
	var unsure []*segment
	for _, svc := range s.services {
		for _, g := range svc.segments {
			if g.unsure || g.made.After(now) {
				g.made, g.unsure = now, false
				unsure = append(unsure, g)
			}
		}
	}
	s.mu.Unlock()
	for _, g := range unsure {
		if err := g.stamp(g.path); err != nil {
			s.log().Error("the time of a segment cannot be set", "error", err)
		}
	}
}

// byOldest is a heap of services, that with the oldest segment first.
type byOldest []*service

func (b byOldest) Len() int           { return len(b) }
func (b byOldest) Less(i, j int) bool { return b[i].segments[0].journal < b[j].segments[0].journal }
func (b byOldest) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byOldest) Push(x any)        { *b = append(*b, x.(*service)) }

func (b *byOldest) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

// onDisk returns the space that a segment takes on disk, which is usually allocated in blocks of 4 KiB.
func (g *segment) onDisk() int64 { return (g.size + 4095) &^ 4095 }

// takeOldest removes the oldest segment, and returns it.
func (svc *service) takeOldest() *segment {
	g := svc.segments[0]
	svc.segments = slices.Clone(svc.segments[1:])
	return g
}
