package migrate

import "fmt"

// A Step is SQL to run in one transaction, which also records Version as the version of the schema.
type Step struct {
	Version int    // of the schema after the step
	Name    string // of the migration
	Down    bool   // a step back, which may delete data
	SQL     string
}

// String describes the step, for errors and logs, such as "migration 3, archive, down".
func (s Step) String() string {
	if s.Down {
		return fmt.Sprintf("migration %d, %s, down", s.Version+1, s.Name)
	}
	return fmt.Sprintf("migration %d, %s, up", s.Version, s.Name)
}

// Latest returns the version of the newest migration, or 0 if there are none.
func Latest(migrations []Migration) int { return len(migrations) }

// Plan returns the steps that lead from the version that the schema has to the target, in order; 0 is an empty database.
// A current version newer than the newest migration is an error that wraps [ErrNewer].
func Plan(migrations []Migration, current, target int) ([]Step, error) {
	latest := Latest(migrations)
	switch {
	case current > latest:
		return nil, fmt.Errorf("%w: it has version %d, and this program knows up to %d", ErrNewer, current, latest)
	case current < 0:
		return nil, fmt.Errorf("the schema has version %d, which never was", current)
	case target < 0 || target > latest:
		return nil, fmt.Errorf("there is no schema version %d: give from 0, which is none at all, to %d", target, latest)
	}
	var steps []Step
	for v := current; v < target; v++ {
		m := migrations[v]
		steps = append(steps, Step{Version: m.Version, Name: m.Name, SQL: m.Up})
	}
	for v := current; v > target; v-- {
		m := migrations[v-1]
		steps = append(steps, Step{Version: v - 1, Name: m.Name, Down: true, SQL: m.Down})
	}
	return steps, nil
}
