package sqlite

import "github.com/meanwhile-go/meanwhile/internal/lanes"

// ForgetLane makes the store forget its cache of a lane in all queues.
func (s *Store) ForgetLane(key string) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		q.Forget(key)
	}
}

// MostKnown is how many lanes of a queue, whose jobs may start, a process caches.
const MostKnown = lanes.MostKnown

// KnownLanes returns how many lanes the store caches.
func (s *Store) KnownLanes() (n int) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		n += q.Known()
	}
	return n
}
