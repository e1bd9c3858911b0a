package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// Apply applies an action to the newest jobs that match the filter, in one statement. Jobs that another transaction moves to another table while the
// statement runs are searched for again, in a new transaction: a transaction that kept the locks of the first could deadlock.
func (s *Store) Apply(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
	if f.Limit <= 0 {
		return done, fmt.Errorf("change jobs: a limit of %d", f.Limit)
	}
	if err := action.Check(); err != nil {
		return done, fmt.Errorf("change jobs: %w", err)
	}
	if f.IDs != nil && len(f.IDs) == 0 {
		return done, s.enter(ctx)
	}
	woken := map[string]bool{}
	left, again := f, false
	err = s.call(ctx, "change jobs", func(ctx context.Context) error {
		for {
			part, err := s.applyOnce(ctx, left, action, woken)
			if err != nil {
				return err
			}
			done.Changed, done.Skipped, done.Conflicts = done.Changed+part.Changed, done.Skipped+part.Skipped, done.Conflicts+part.Conflicts
			if !again {
				done.Next = part.Next
			}
			if len(part.moved) == 0 {
				return nil
			}
			left.IDs, left.Limit, again = part.moved, len(part.moved), true
		}
	})
	s.notify(slices.Collect(maps.Keys(woken)))
	s.wrote(ctx, done.Changed)
	return done, err
}

// An applyResult is the result of one statement.
type applyResult struct {
	job.ActionResult
	moved []job.ID // to another table by another transaction, while the statement ran
}

// applyOnce applies an action, in a transaction, to the jobs that the statement sees, and adds to woken the queues in which jobs may have become due.
func (s *Store) applyOnce(ctx context.Context, f job.Filter, action job.Action, woken map[string]bool) (a applyResult, err error) {
	statement, args := applyArgs(action)
	var found int
	var last *[16]byte
	var moved [][16]byte
	var queues []string
	err = s.inTx(ctx, func(r pgxRunner) error {
		if _, err := r.count(ctx, s.sql("apply_plan")); err != nil {
			return err
		}
		r.mode = pgx.QueryExecModeDescribeExec // planned for the start of this part: a cached plan would scan the parts before it
		to := []any{&a.Changed, &a.Skipped, &a.Conflicts, &found, &last, &moved, &queues}
		return r.each(ctx, s.applySQL(listStatement(f), statement), append(filterArgs(f), args...), to, func() error { return nil })
	})
	if err != nil {
		return applyResult{}, err
	}
	if found == f.Limit {
		a.Next = *last
	}
	for _, id := range moved {
		a.moved = append(a.moved, id)
	}
	for _, queue := range queues {
		woken[queue] = true
	}
	return a, nil
}

// applySQL returns a statement that applies an action to the jobs which a statement of List finds.
func (s *Store) applySQL(list, action string) string {
	found := s.sql("apply_found")
	switch action {
	case "apply_queued": // the only action that changes no key
		found = ", found as materialized (select * from listed)"
	case "apply_retry": // it takes free keys before it locks others
		found = ""
	}
	return "with listed as materialized (select id, state from (" + s.sql(list) + ") l)\n" + found + "\n" + s.sql(action) + "\n" + s.sql("apply_done")
}

// applyArgs returns the name of an action's statement, and its arguments besides those of the filter.
func applyArgs(action job.Action) (statement string, args []any) {
	from := make([]string, len(action.From))
	for i, state := range action.From {
		from[i] = string(state)
	}
	args = []any{from}
	switch {
	case action.To == "":
		return "apply_delete", args
	case action.To.Finished():
		return "apply_finish", append(args, string(action.To), action.Suits(job.Running))
	case action.Suits(job.Canceled):
		return "apply_retry", append(args, action.Due)
	}
	var priority *int16
	if action.Priority != 0 {
		p := int16(action.Priority)
		priority = &p
	}
	return "apply_queued", append(args, text(action.Queue), priority, action.Due, instant(action.RunAt))
}
