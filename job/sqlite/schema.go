package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = sync.OnceValue(func() []migrate.Migration {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err)
	}
	all, err := migrate.Load(folder)
	if err != nil {
		panic(err)
	}
	return all
})

// Migrate creates the tables, or upgrades those of an older version. Tables of a newer version are not changed if they are marked as
// usable by this version. Open calls it already. Many processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.Ping(ctx); err == nil {
		return nil
	}
	return s.MigrateTo(ctx, migrate.Latest(migrations()))
}

// MigrateTo migrates the schema to a version, up or down; version 0 removes all tables of the store from the file. A migration
// down deletes the data that the older version cannot hold. With a version other than the newest, the store returns
// job.ErrSchema, at 0 job.ErrNoSchema.
func (s *Store) MigrateTo(ctx context.Context, version int) error {
	what := fmt.Sprintf("migrate the schema to version %d", version)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.writerMu.Lock()
	defer s.writerMu.Unlock()
	if s.isClosed() {
		return fmt.Errorf("%s: %w", what, job.ErrClosed)
	}
	s.cookie.Store(0)
	return s.explain(what, s.transactUnchecked(true, func(t *txn) error {
		schema, err := readSchema(t)
		if err != nil {
			return err
		}
		steps, err := migrate.Plan(migrations(), int(schema.version), version)
		if errors.Is(err, migrate.ErrNewer) {
			return fmt.Errorf("%w: %w", job.ErrSchema, err)
		} else if err != nil || len(steps) == 0 {
			return err
		}
		return runSteps(t, schema, steps)
	}))
}

func runSteps(t *txn, before schema, steps []migrate.Step) error {
	if !before.exists {
		for _, name := range []string{"schema_create", "schema_insert"} {
			if _, err := t.exec(statement(name)); err != nil {
				return err
			}
		}
	}
	for _, step := range steps {
		if _, err := t.exec(step.SQL); err != nil {
			return fmt.Errorf("%v: %w", step, err)
		}
	}
	version := steps[len(steps)-1].Version
	if version == 0 {
		_, err := t.exec(statement("schema_drop"))
		return err
	}
	if before.exists && !before.column {
		if _, err := t.exec(statement("schema_column")); err != nil {
			return err
		}
	}
	_, err := t.exec(statement("schema_set"), int64(version), int64(migrate.ReadableFrom(migrations(), version)))
	return err
}

// A schema describes the version of the tables in a file.
type schema struct {
	exists       bool
	version      int64
	readableFrom int64 // the oldest version whose programs can use the tables
	column       bool  // the table has a column for readableFrom
}

func readSchema(in session) (schema, error) {
	row, err := one(in, statement("schema_exists"))
	if err != nil || row == nil {
		return schema{}, err
	}
	if row, err = one(in, statement("schema_version")); err != nil {
		return schema{exists: true}, err
	}
	if row == nil {
		return schema{exists: true}, errors.New("the table meanwhile_schema is empty")
	}
	found := schema{exists: true, version: integer(row[0]), readableFrom: integer(row[0]), column: len(row) > 1}
	if found.column && row[1] != nil {
		found.readableFrom = integer(row[1])
	}
	return found, nil
}

// checkSchema returns nil if this program can use the tables. Unless a table was changed, this is one cheap query.
func (s *Store) checkSchema(t *txn) error {
	row, err := one(t, statement("schema_cookie"))
	if err != nil {
		return err
	}
	cookie := integer(row[0])
	if cookie != 0 && cookie == s.cookie.Load() {
		return nil
	}
	found, err := readSchema(t)
	switch latest := migrate.Latest(migrations()); {
	case err != nil:
		return err
	case !found.exists:
		return job.ErrNoSchema
	case found.version < int64(latest):
		return fmt.Errorf("%w: it has version %d, and this program works with %d", job.ErrSchema, found.version, latest)
	case found.readableFrom > int64(latest):
		return fmt.Errorf("%w: it has version %d, which programs that know version %d can use, and this one knows up to %d: update it",
			job.ErrSchema, found.version, found.readableFrom, latest)
	}
	// The numbers may differ if the tables were created anew.
	s.classes.clear()
	s.holdings.clear()
	s.lanes.stale.Store(true)
	if !t.callers {
		s.cookie.Store(cookie)
	}
	return nil
}
