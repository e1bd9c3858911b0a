package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// SQL returns a statement of a store, to test its plan.
func (s *Store) SQL(name string) string { return s.sql(name) }

// Pool returns the pool of a store, to test its connections.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// ForgetLane makes the store forget its cache of a lane in all queues.
func (s *Store) ForgetLane(key string) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	for _, q := range s.known.queues {
		if q.lanes != nil {
			q.lanes.Forget(key)
		}
	}
}

// MergeCounts makes the next call that writes counts merge them.
func (s *Store) MergeCounts() { s.deltas.Store(compactAfter - 1) }
