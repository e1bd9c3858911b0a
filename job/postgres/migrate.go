package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are loaded once. A store has them in a field of its own, so that a test can add newer ones to one of two stores.
var migrations = sync.OnceValue(func() []migrate.Migration { return migrate.MustLoad(migrationFiles) })

// migrateTimeout bounds a migration whose ctx has no deadline: it may have to build indexes.
const migrateTimeout = time.Hour

// Migrate creates the tables, or upgrades those of an older version. It does not change tables of a newer version that are marked as usable by this
// one. Many processes may call it at once. It needs the right to create in the schema, and in the database if the schema does not exist.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.Ping(ctx); err == nil {
		return nil
	}
	return s.MigrateTo(ctx, migrate.Latest(s.migrations))
}

// MigrateTo migrates the tables to a version, up or down, in one transaction; 0 drops them, with every job.
func (s *Store) MigrateTo(ctx context.Context, version int) error {
	err := s.enter(ctx)
	if err == nil {
		var cancel context.CancelFunc
		ctx, cancel = bounded(ctx, migrateTimeout)
		defer cancel()
		err = s.explain(ctx, s.tryMigrate(ctx, version))
	}
	s.checked.Store(false)
	if err != nil {
		return fmt.Errorf("migrate schema %q: %w", s.schema, err)
	}
	return nil
}

// tryMigrate retries a migration that was in a deadlock with a program that uses the tables.
func (s *Store) tryMigrate(ctx context.Context, version int) error {
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.migrate(ctx, tx, version) })
		if err == nil || try == tries || !undone(err) || !pause(ctx, time.Duration(try)*100*time.Millisecond) {
			return err
		}
	}
}

func (s *Store) migrate(ctx context.Context, tx pgx.Tx, target int) error {
	if _, err := tx.Exec(ctx, s.sql("migrate_lock"), s.mode, "meanwhile migration of "+s.schema); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, s.sql("schema_exists"), s.mode, s.schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.Exec(ctx, "create schema "+pgx.Identifier{s.schema}.Sanitize()); err != nil {
			return err
		}
	}
	version, _, err := s.version(ctx, tx)
	if errors.Is(err, errNoVersion) {
		_, err = tx.Exec(ctx, s.sql("version_create"))
	}
	if err != nil {
		return err
	}
	steps, err := migrate.Plan(s.migrations, version, target)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if _, err := tx.Conn().PgConn().Exec(ctx, inSchema(step.SQL, s.schema)).ReadAll(); err != nil {
			return fmt.Errorf("%v: %w", step, err)
		}
	}
	_, err = tx.Exec(ctx, s.sql("version_set"), s.mode, target, migrate.ReadableFrom(s.migrations, target))
	return err
}

var errNoVersion = errors.New("the schema has no table of its version")

// version returns the version of the schema, and the oldest version whose programs can use it.
func (s *Store) version(ctx context.Context, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (version, readableFrom int, err error) {
	var there bool
	var isolation, plainStrings string
	name := pgx.Identifier{s.schema, "version"}.Sanitize()
	if err := on.QueryRow(ctx, s.sql("version_exists"), s.mode, name).Scan(&there, &isolation, &plainStrings); err != nil {
		return 0, 0, err
	}
	if err := s.checkSettings(isolation, plainStrings); err != nil {
		return 0, 0, err
	}
	if !there {
		return 0, 0, errNoVersion
	}
	err = on.QueryRow(ctx, s.sql("version"), s.mode).Scan(&version, &readableFrom)
	return version, readableFrom, err
}

// checkSettings returns an error if the server, the database or the role has settings for its connections that the store cannot work with. In another
// isolation, statements that wait for a row or a lock would fail, or not see what they waited for. The store does not set it itself: a statement that
// is a transaction of its own would need more round trips, and behind a pooler a setting of the connection would be that of other programs, too.
func (s *Store) checkSettings(isolation, plainStrings string) error {
	for _, setting := range []struct{ name, is, needed string }{
		{"default_transaction_isolation", isolation, "read committed"},
		{"standard_conforming_strings", plainStrings, "on"}, // without it, a backslash in a text of SQL has another meaning
	} {
		if setting.is != setting.needed {
			return fmt.Errorf("the connections have %s = '%s', and the store needs '%s': add %s=%s to the URL, or change it for the role (alter role %s set %[1]s = '%[3]s')",
				setting.name, setting.is, setting.needed, setting.name, url.PathEscape(setting.needed), pgx.Identifier{s.pool.Config().ConnConfig.User}.Sanitize())
		}
	}
	return nil
}

// check returns an error unless this program can use the schema. After a success it does not check again.
func (s *Store) check(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	version, readableFrom, err := s.version(ctx, s.pool)
	switch {
	case errors.Is(err, errNoVersion) || err == nil && version == 0:
		return job.ErrNoSchema
	case err != nil:
		return err
	}
	if err := migrate.Check(s.migrations, version, readableFrom); err != nil {
		return err
	}
	s.checked.Store(true)
	return nil
}
