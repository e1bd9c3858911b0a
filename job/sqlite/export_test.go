package sqlite

import "github.com/meanwhile-go/meanwhile/internal/lanes"

// ForgetLane has the store forget what it knows of a lane of any queue.
func (s *Store) ForgetLane(key string) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		q.Forget(key)
	}
}

// MostKnown is how many lanes of a queue a process knows whose jobs may start.
const MostKnown = lanes.MostKnown

// KnownLanes returns how many lanes the store knows.
func (s *Store) KnownLanes() (n int) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		n += q.Known()
	}
	return n
}
