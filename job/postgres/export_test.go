package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// SQL returns a statement of a store, to look at its plan.
func (s *Store) SQL(name string) string { return s.sql(name) }

// Pool returns the connections of a store, to ask the server what it was given.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// ForgetLane has the store forget what it knows of a lane of any queue.
func (s *Store) ForgetLane(key string) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	for _, q := range s.known.queues {
		if q.lanes != nil {
			q.lanes.Forget(key)
		}
	}
}
