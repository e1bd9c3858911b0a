package postgres

// SQL returns a statement of a store, to look at its plan.
func (s *Store) SQL(name string) string { return s.sql(name) }
