package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// parts records which parts of which jobs are done, in a table of the application.
type parts struct{ db *sql.DB }

func openParts(ctx context.Context, db *sql.DB) (*parts, error) {
	_, err := db.ExecContext(ctx, "CREATE TABLE parts (job TEXT, service TEXT, PRIMARY KEY (job, service)) WITHOUT ROWID")
	if err != nil {
		return nil, fmt.Errorf("create the table of parts: %w", err)
	}
	return &parts{db}, nil
}

func (p *parts) done(ctx context.Context, id job.ID, service string) (done bool, err error) {
	const query = "SELECT EXISTS (SELECT 1 FROM parts WHERE job = ? AND service = ?)"
	err = p.db.QueryRowContext(ctx, query, id.String(), service).Scan(&done)
	return done, err
}

func (p *parts) note(ctx context.Context, id job.ID, service string) error {
	_, err := p.db.ExecContext(ctx, "INSERT INTO parts VALUES (?, ?) ON CONFLICT DO NOTHING", id.String(), service)
	return err
}
