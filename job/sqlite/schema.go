package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are loaded once. A store has them in a field of its own, so that a test can add newer ones to one of two stores.
var migrations = sync.OnceValue(func() []migrate.Migration { return migrate.MustLoad(migrationFiles) })

// Migrate creates the tables, or upgrades those of an older version. Tables of a newer version are not changed if they are marked as
// usable by this version. Open calls it already. Many processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.Ping(ctx); err == nil {
		return nil
	}
	return s.MigrateTo(ctx, migrate.Latest(s.migrations))
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
		steps, err := migrate.Plan(s.migrations, int(schema.version), version)
		if err != nil || len(steps) == 0 {
			return err
		}
		return s.runSteps(t, schema, steps)
	}))
}

func (s *Store) runSteps(t *txn, before schema, steps []migrate.Step) error {
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
	_, err := t.exec(statement("schema_set"), int64(version), int64(migrate.ReadableFrom(s.migrations, version)))
	return err
}

// A schema describes the version of the tables in a file.
type schema struct {
	exists       bool
	version      int64
	readableFrom int64 // the oldest version whose programs can use the tables
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
	return schema{exists: true, version: integer(row[0]), readableFrom: integer(row[1])}, nil
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
	if err != nil {
		return err
	}
	if !found.exists {
		return job.ErrNoSchema
	}
	if err := migrate.Check(s.migrations, int(found.version), int(found.readableFrom)); err != nil {
		return err
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
