package meanwhile

import "time"

// sightings remembers where each task was found, so that the next look can say for how long it has been found there. The
// mutex of places guards it. It has an entry for each task that was seen lately.
var sightings = sightingMap{at: make(map[uint32]sighting)}

type sightingMap struct {
	at    map[uint32]sighting
	swept time.Time
}

type sighting struct {
	place       uint64 // a hash
	first, last time.Time
}

// keepSightings is how long a task that nobody looks at is remembered.
const keepSightings = time.Minute

// seen tells of a task that was found in a place, and returns for how long it has been found there.
func (m *sightingMap) seen(id uint32, reason string, calls []*place, now time.Time) time.Duration {
	place := uint64(14695981039346656037) // FNV-1a
	add := func(x uint64) { place = (place ^ x) * 1099511628211 }
	for _, p := range calls {
		add(p.serial)
	}
	for i := range len(reason) {
		add(uint64(reason[i]))
	}
	s, ok := m.at[id]
	if !ok || s.place != place {
		s = sighting{place: place, first: now}
	}
	s.last = now
	m.at[id] = s
	return max(0, now.Sub(s.first))
}

// forget removes those that were not seen: at once after a look at all trees, else when nobody looked for long.
func (m *sightingMap) forget(begun time.Time, whole bool) {
	now := time.Now()
	if whole {
		for id, s := range m.at {
			if s.last.Before(begun) {
				delete(m.at, id)
			}
		}
		return
	}
	if d := now.Sub(m.swept); d >= 0 && d < keepSightings {
		return
	}
	m.swept = now
	for id, s := range m.at {
		if d := now.Sub(s.last); d < 0 || d > keepSightings {
			delete(m.at, id)
		}
	}
}
