package postgres

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
)

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

// AddMigration makes the store that of a newer program, which has one more migration. It returns the version of that.
func (s *Store) AddMigration(up, down string, readableFrom int) int {
	latest := migrate.Latest(s.migrations)
	s.migrations = append(slices.Clone(s.migrations), migrate.Migration{
		Version: latest + 1, Name: "added", Up: up, Down: down, ReadableFrom: cmp.Or(readableFrom, latest+1),
	})
	return latest + 1
}

// Version returns the version of the schema that the store's program knows.
func (s *Store) Version() int { return migrate.Latest(s.migrations) }
