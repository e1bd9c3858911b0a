package dash

import (
	"crypto/rand"
	"slices"
	"sync"
	"time"
)

// mostRecent is how many values a recent keeps.
const mostRecent = 50

// A recent keeps the newest values in memory, for undoTime, by random IDs that nobody can guess.
type recent[T interface{ stamped() *stamp }] struct {
	mu   sync.Mutex
	kept []T // the newest first
}

// A stamp is the part of a value that a recent sets.
type stamp struct {
	ID   string
	Time time.Time
}

func (s *stamp) stamped() *stamp { return s }

// add keeps a value, and returns its ID. A value that had been removed gets back its ID and its time.
func (s *recent[T]) add(value T) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := value.stamped()
	if is.ID == "" {
		is.ID, is.Time = rand.Text(), time.Now()
	}
	s.kept = slices.Insert(s.fresh(), 0, value)
	s.kept = s.kept[:min(len(s.kept), mostRecent)]
	return is.ID
}

// all returns the values that are kept, the newest first.
func (s *recent[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.fresh())
}

// find returns the value with an ID, or the zero value.
func (s *recent[T]) find(id string) (found T) {
	for _, value := range s.all() {
		if value.stamped().ID == id {
			return value
		}
	}
	return found
}

// remove removes the value with an ID and returns it, or the zero value. Only one caller gets it.
func (s *recent[T]) remove(id string) (found T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.fresh()
	i := slices.IndexFunc(kept, func(value T) bool { return value.stamped().ID == id })
	if i < 0 {
		return found
	}
	found = kept[i]
	s.kept = slices.Delete(kept, i, i+1)
	return found
}

func (s *recent[T]) fresh() []T {
	s.kept = slices.DeleteFunc(s.kept, func(value T) bool { return time.Since(value.stamped().Time) >= undoTime })
	return s.kept
}
