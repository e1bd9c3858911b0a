package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

//go:embed sql/*.sql
var queryFiles embed.FS

// queries are the statements by the names of their files.
type queries map[string]string

// loadQueries returns the statements for a schema. The files have the name of the default schema.
func loadQueries(schema string) queries {
	files, err := fs.Glob(queryFiles, "sql/*.sql")
	if err != nil {
		panic("postgres: " + err.Error())
	}
	q := queries{}
	for _, file := range files {
		text, err := queryFiles.ReadFile(file)
		if err != nil {
			panic("postgres: " + err.Error())
		}
		q[strings.TrimSuffix(path.Base(file), ".sql")] = inSchema(withoutComments(string(text)), schema)
	}
	return q
}

// inSchema replaces the schema of the tables in a text of SQL.
func inSchema(text, schema string) string {
	return strings.ReplaceAll(text, DefaultSchema+".", pgx.Identifier{schema}.Sanitize()+".")
}

func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// sql returns the statement in a file.
func (s *Store) sql(name string) string {
	text, ok := s.queries[name]
	if !ok {
		panic("postgres: there is no sql/" + name + ".sql")
	}
	return text
}

// A runner runs statements: in a transaction of the store or of the caller, or each in its own.
type runner interface {
	// ids runs a statement that returns nothing, or a column of IDs.
	ids(ctx context.Context, statement string, args ...any) ([]job.ID, error)
	// each runs a statement, and calls fn for each row once it was scanned into to.
	each(ctx context.Context, statement string, args, to []any, fn func() error) error
}

// A pgxRunner runs on a pool, a connection or a transaction of pgx.
type pgxRunner struct {
	on interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
	mode pgx.QueryExecMode
}

func (r pgxRunner) query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	return r.on.Query(ctx, statement, append([]any{r.mode}, args...)...)
}

func (r pgxRunner) ids(ctx context.Context, statement string, args ...any) ([]job.ID, error) {
	rows, err := r.query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []job.ID
	for rows.Next() {
		var id [16]byte
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		found = append(found, id)
	}
	return found, rows.Err()
}

func (r pgxRunner) each(ctx context.Context, statement string, args, to []any, fn func() error) error {
	rows, err := r.query(ctx, statement, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, to, fn)
	return err
}

// A sqlRunner runs in a transaction of database/sql, whose driver must be that of pgx.
type sqlRunner struct{ tx *sql.Tx }

func (r sqlRunner) ids(ctx context.Context, statement string, args ...any) (found []job.ID, err error) {
	var text string
	err = r.each(ctx, statement, args, []any{&text}, func() error {
		id, err := job.ParseID(text)
		if err != nil {
			return fmt.Errorf("what the database returned: %w", err)
		}
		found = append(found, id)
		return nil
	})
	return found, err
}

func (r sqlRunner) each(ctx context.Context, statement string, args, to []any, fn func() error) (err error) {
	rows, err := r.tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// run returns a runner whose statements are each a transaction.
func (s *Store) run() pgxRunner { return pgxRunner{s.pool, s.mode} }

// inTx runs fn in a transaction, and again in another one if it returns errFreed.
func (s *Store) inTx(ctx context.Context, fn func(r pgxRunner) error) error {
	for {
		if err := s.inOneTx(ctx, fn); !errors.Is(err, errFreed) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) inOneTx(ctx context.Context, fn func(r pgxRunner) error) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after a commit
	if err := fn(pgxRunner{tx, s.mode}); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil && codeOf(err) == "" {
		return &openError{err}
	} else if err != nil {
		return err
	}
	return nil
}
