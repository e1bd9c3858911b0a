package sqlite

import (
	"cmp"
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/internal/migrate"
)

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
