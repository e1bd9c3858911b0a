package migrate

import (
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// A Step is SQL to run in one transaction, which also records Version as the version of the schema.
type Step struct {
	Version   int    // of the schema after the step
	Migration int    // its number
	Name      string // of the migration
	Down      bool   // a step back, which may delete data
	SQL       string
}

// String describes the step, for errors and logs, such as "migration 3, archive, down".
func (s Step) String() string {
	direction := "up"
	if s.Down {
		direction = "down"
	}
	return fmt.Sprintf("migration %d, %s, %s", s.Migration, s.Name, direction)
}

// Latest returns the version of the newest migration.
func Latest(migrations []Migration) int { return migrations[len(migrations)-1].Version }

// ReadableFrom returns the oldest version whose programs work with the tables of a version.
func ReadableFrom(migrations []Migration, version int) int {
	i := version - migrations[0].Version
	if i < 0 || i >= len(migrations) {
		return version
	}
	return migrations[i].ReadableFrom
}

// Plan returns the steps that lead from the version that the schema has to the target, in order; 0 is an empty database. A current version that is newer
// than the newest migration, or older than the first, is an error that wraps [job.ErrSchema].
func Plan(migrations []Migration, current, target int) ([]Step, error) {
	first, latest := migrations[0].Version, Latest(migrations)
	switch {
	case current > latest:
		return nil, fmt.Errorf("%w: it has version %d, and this program knows up to %d", job.ErrSchema, current, latest)
	case current < 0:
		return nil, fmt.Errorf("the schema has version %d, which never existed", current)
	case current > 0 && current < first:
		return nil, tooOld(migrations, current)
	case target != 0 && (target < first || target > latest):
		return nil, fmt.Errorf("there is no schema version %d: use %s, or 0, which removes everything", target, span(first, latest))
	}
	var steps []Step
	for _, m := range migrations {
		if m.Version > current && m.Version <= target {
			steps = append(steps, Step{Version: m.Version, Migration: m.Version, Name: m.Name, SQL: m.Up})
		}
	}
	for i := len(migrations) - 1; i >= 0; i-- {
		m := migrations[i]
		if m.Version > current || m.Version <= target {
			continue
		}
		before := 0
		if i > 0 {
			before = migrations[i-1].Version
		}
		steps = append(steps, Step{Version: before, Migration: m.Version, Name: m.Name, Down: true, SQL: m.Down})
	}
	return steps, nil
}

// Check returns an error that wraps [job.ErrSchema] unless this program can use a schema of a version above 0, which programs that know readableFrom can
// use. A schema that can be migrated is an error, too.
func Check(migrations []Migration, version, readableFrom int) error {
	switch latest := Latest(migrations); {
	case version < migrations[0].Version:
		return tooOld(migrations, version)
	case version < latest:
		return fmt.Errorf("%w: it has version %d, and %d is needed: migrate it (meanwhile jobs migrate)", job.ErrSchema, version, latest)
	case readableFrom > latest:
		return fmt.Errorf("%w: it has version %d, which programs that know version %d can use, and this one knows up to %d: update it",
			job.ErrSchema, version, readableFrom, latest)
	}
	return nil
}

func tooOld(migrations []Migration, version int) error {
	return fmt.Errorf("%w: it has version %d, from before the first release, and this program can migrate from version %d on: use a new database",
		job.ErrSchema, version, migrations[0].Version)
}

func span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d to %d", first, last)
}
