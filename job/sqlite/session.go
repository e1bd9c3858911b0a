package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// A session runs statements in a transaction. Arguments are int64, string, []byte and nil; so are values of rows, which belong to
// the caller.
type session interface {
	exec(query string, args ...any) (changed int64, err error)
	each(query string, args []any, row func(v []driver.Value) error) error
}

// one returns the first row of a query, or nil if there is none.
func one(s session, query string, args ...any) ([]driver.Value, error) {
	var found []driver.Value
	err := s.each(query, args, func(v []driver.Value) error {
		if found == nil {
			found = append([]driver.Value{}, v...)
		}
		return nil
	})
	return found, err
}

// A direct session uses the driver without database/sql, which would cost more than the statements themselves. It keeps prepared
// statements, and is used by one goroutine at a time.
type direct struct {
	conn     driver.Conn
	prepared map[string]driver.Stmt
	args     []driver.NamedValue
	values   map[int][]driver.Value // for rows, by their number of columns
	synced   bool                   // see sync
}

func openDirect(ctx context.Context, connector driver.Connector) (*direct, error) {
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &direct{conn: conn, prepared: map[string]driver.Stmt{}, values: map[int][]driver.Value{}, synced: true}, nil
}

func (d *direct) prepare(query string) (driver.Stmt, error) {
	if s, ok := d.prepared[query]; ok {
		return s, nil
	}
	s, err := d.conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	d.prepared[query] = s
	return s, nil
}

func (d *direct) bind(args []any) []driver.NamedValue {
	d.args = d.args[:0]
	for i, a := range args {
		d.args = append(d.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return d.args
}

func (d *direct) exec(query string, args ...any) (int64, error) {
	s, err := d.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := s.(driver.StmtExecContext).ExecContext(context.Background(), d.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (d *direct) each(query string, args []any, row func(v []driver.Value) error) error {
	s, err := d.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), d.bind(args))
	if err != nil {
		return err
	}
	n := len(rows.Columns())
	values := d.values[n]
	delete(d.values, n) // row may run another query
	if values == nil {
		values = make([]driver.Value, n)
	}
	for err == nil {
		if err = rows.Next(values); err == nil {
			err = row(values)
		}
	}
	d.values[n] = values
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// sync sets whether later transactions are on disk when they have been committed.
func (d *direct) sync(full bool) error {
	if full == d.synced {
		return nil
	}
	query := statement("sync_normal")
	if full {
		query = statement("sync_full")
	}
	// The pragma takes effect when it is prepared, so the statement must not be cached.
	if _, err := d.conn.(driver.ExecerContext).ExecContext(context.Background(), query, nil); err != nil {
		return err
	}
	d.synced = full
	return nil
}

func (d *direct) close() error {
	var errs []error
	for _, s := range d.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.conn.Close())...)
}

// A foreign session is a transaction of database/sql: the caller's, or a read-only one of the store.
type foreign struct {
	ctx context.Context
	tx  *sql.Tx
	// prepared has the statements that were run; it is nil if they are not to be kept. A statement is prepared when it is run for the second
	// time; from then on SQLite does not parse it again, which may take longer than running it. Prepared statements last as long as the
	// transaction.
	prepared map[string]*sql.Stmt
}

func (f foreign) exec(query string, args ...any) (int64, error) {
	result, err := f.tx.ExecContext(f.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (f foreign) each(query string, args []any, row func(v []driver.Value) error) error {
	rows, err := f.query(query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, scanned, into := make([]driver.Value, len(columns)), make([]any, len(columns)), make([]any, len(columns))
	for i := range scanned {
		into[i] = &scanned[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range scanned {
			values[i] = v
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (f foreign) query(query string, args []any) (*sql.Rows, error) {
	s, again := f.prepared[query]
	if f.prepared != nil && !again {
		f.prepared[query] = nil
	}
	if !again {
		return f.tx.QueryContext(f.ctx, query, args...)
	}
	if s == nil {
		var err error
		if s, err = f.tx.PrepareContext(f.ctx, query); err != nil {
			return nil, err
		}
		f.prepared[query] = s
	}
	return s.QueryContext(f.ctx, args...)
}
