package engine

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver

	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/internal/privatefile"
)

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/put.sql
	putSQL string
	//go:embed sql/delete.sql
	deleteSQL string
	//go:embed sql/find.sql
	findSQL string
	//go:embed sql/count.sql
	countSQL string
	//go:embed sql/search.sql
	searchSQL string
	//go:embed sql/search_count.sql
	searchCountSQL string
	//go:embed sql/all.sql
	allSQL string
	//go:embed sql/words_put.sql
	wordsPutSQL string
	//go:embed sql/words_delete.sql
	wordsDeleteSQL string
)

const (
	mostGrouped = 500 // writes that share a transaction
	readers     = 4
)

// An index is a file with documents. Concurrent writes share a transaction.
type index struct {
	name, path string
	fields     []string // searched fields, in the order of their columns
	writer     *sql.DB  // with a single connection
	reads      *sql.DB
	writes     *group.Group[write, written]
}

func openIndex(path, name string, fields []string) (*index, error) {
	x := &index{name: name, path: path, fields: fields}
	x.writes = group.New(mostGrouped, 1, x.flush)
	err := privatefile.Create(path)
	if err != nil {
		return nil, err
	}
	if x.writer, err = sql.Open("sqlite", source(path, "journal_mode(WAL)", "synchronous(NORMAL)")); err != nil {
		return nil, err
	}
	x.writer.SetMaxOpenConns(1)
	if _, err := x.writer.Exec(schemaSQL); err != nil {
		return nil, errors.Join(fmt.Errorf("make index %s: %w", name, err), x.writer.Close())
	}
	if x.reads, err = sql.Open("sqlite", source(path, "query_only(1)")); err != nil {
		return nil, errors.Join(err, x.writer.Close())
	}
	x.reads.SetMaxOpenConns(readers)
	x.reads.SetMaxIdleConns(readers)
	return x, nil
}

func source(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{"busy_timeout(10000)"}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

func (x *index) close() error { return errors.Join(x.reads.Close(), x.writer.Close()) }

func (x *index) count(ctx context.Context) (n int, err error) {
	err = x.reads.QueryRowContext(ctx, countSQL).Scan(&n)
	return n, err
}

// find returns a document, or sql.ErrNoRows.
func (x *index) find(ctx context.Context, id string) (version int64, source string, err error) {
	err = x.reads.QueryRowContext(ctx, findSQL, id).Scan(&version, &source)
	return version, source, err
}
