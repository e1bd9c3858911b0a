package jobs

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// Migrate is "meanwhile jobs migrate".
type Migrate struct {
	To     *int `placeholder:"N" help:"Migrate to this version, up or down; 0 drops the tables with all jobs."`
	Status bool `help:"Only report whether the tables match this program."`
	Yes    bool `short:"y" help:"Do not ask for confirmation before --to drops data that the older version cannot store."`
}

// Help is the text above the flags.
func (*Migrate) Help() string {
	return `Creates missing tables and migrates older ones to the current version; it does nothing when they are up to date. Several
processes may run it at the same time. A SQLite file is migrated by any program that opens it. Redis has no tables.`
}

// A migrator is a store with tables.
type migrator interface {
	Migrate(ctx context.Context) error
	MigrateTo(ctx context.Context, version int) error
}

// Run migrates the tables.
func (m *Migrate) Run(c *Command, streams probe.Streams) error {
	switch {
	case m.To != nil && m.Status:
		return usage("--to and --status: choose one")
	case m.To != nil && *m.To < 0:
		return usage("--to: give no negative number")
	case m.Status:
		return c.use(false, func(context.Context, job.Store) error {
			return m.report(c, streams, "the tables fit this program")
		})
	}
	return interrupt.Run("jobs", func(ctx context.Context) error {
		return c.withUnfit(ctx, true, func(ctx context.Context, s job.Store) error { return m.migrate(ctx, c, streams, s) })
	})
}

func (m *Migrate) migrate(ctx context.Context, c *Command, streams probe.Streams, s job.Store) error {
	store, ok := s.(migrator)
	if !ok {
		if m.To != nil {
			return fmt.Errorf("store %s: it has no tables, and so no versions of them: leave --to out", &c.Target)
		}
		return m.report(c, streams, "the store has no tables, and needs no migration")
	}
	if m.To == nil {
		if err := store.Migrate(ctx); err != nil {
			return fmt.Errorf("store %s: %w", &c.Target, err)
		}
		return m.report(c, streams, "migrated")
	}
	if !m.Yes {
		if ok, err := ask(ctx, streams, fmt.Sprintf("the tables of %s will be migrated to version %d", &c.Target, *m.To), "migrate", "them"); err != nil || !ok {
			return err
		}
	}
	if err := store.MigrateTo(ctx, *m.To); err != nil {
		return fmt.Errorf("store %s: %w", &c.Target, err)
	}
	return m.report(c, streams, fmt.Sprintf("migrated to version %d", *m.To))
}

func (m *Migrate) report(c *Command, streams probe.Streams, what string) error {
	if c.JSON {
		return writeJSON(streams.Out, map[string]string{"store": c.Target.String(), "schema": what})
	}
	_, err := fmt.Fprintf(streams.Out, "%s: %s\n", &c.Target, what)
	return err
}
