package sqlite

// ForgetLane has the store forget what it knows of a lane of any queue.
func (s *Store) ForgetLane(key string) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		if l := q.byKey[key]; l != nil {
			q.forget(l)
		}
	}
}

// MostKnown is how many lanes of a queue a process knows whose jobs may start.
const MostKnown = mostKnown

// KnownLanes returns how many lanes the store knows.
func (s *Store) KnownLanes() (n int) {
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	for _, q := range s.lanes.queues {
		n += len(q.byKey)
	}
	return n
}
