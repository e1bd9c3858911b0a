package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// SQL returns a statement of a store, to look at its plan.
func (s *Store) SQL(name string) string { return s.sql(name) }

// Pool returns the connections of a store, to ask the server what it was given.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }
