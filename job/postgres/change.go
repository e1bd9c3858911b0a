package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Change lets decide say what is to happen to each of the jobs.
func (s *Store) Change(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) (conflicts []job.ID, err error) {
	if len(ids) == 0 {
		return nil, s.enter(ctx)
	}
	// decide is called once for each job, also when the transaction has to be tried again.
	decided := map[job.ID]*decision{}
	var c *change
	err = s.call(ctx, "change jobs", func(ctx context.Context) error {
		return s.inTx(ctx, func(r pgxRunner) error {
			jobs, err := lockJobs(ctx, s, r, ids)
			if err != nil {
				return err
			}
			c = &change{s: s, r: r}
			for _, j := range jobs {
				if err := c.add(j, decide, decided); err != nil {
					return err
				}
			}
			return c.write(ctx)
		})
	})
	if err != nil {
		return nil, err
	}
	s.wrote(len(c.deltas.rows))
	s.notify(queuesOf(c.queued))
	return c.conflicts, nil
}

// lockJobs locks jobs wherever they are. One that moves to another table meanwhile is looked for again.
func lockJobs(ctx context.Context, s *Store, r pgxRunner, ids []job.ID) ([]*job.Job, error) {
	var locked []*job.Job
	for missing := uuids(ids); len(missing) > 0; {
		rows, err := r.query(ctx, s.sql("change_lock"), missing)
		if err != nil {
			return nil, err
		}
		jobs, err := readJobs(rows)
		if err != nil {
			return nil, err
		}
		locked = append(locked, jobs...)
		missing = slices.DeleteFunc(missing, func(id [16]byte) bool {
			return slices.ContainsFunc(jobs, func(j *job.Job) bool { return j.ID == id })
		})
		if len(missing) == 0 {
			break
		}
		there, err := r.ids(ctx, s.sql("change_missing"), missing)
		if err != nil {
			return nil, err
		}
		missing = uuids(there)
	}
	slices.SortFunc(locked, func(a, b *job.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return locked, nil
}

// A decision is what a caller of Change decided for a job.
type decision struct {
	before, after job.Job
	kind          job.Decision
}

// A change is what a transaction of Change writes. All but running jobs are deleted and inserted anew.
type change struct {
	s *Store
	r pgxRunner

	gone             map[job.State][]job.ID // by the state before
	queued, finished []*job.Job
	running          []*job.Job
	taken            []*decision // finished ones to be queued that need their key
	freed            []*job.Job  // whose key is free, at the end of UniqueFor
	deltas           deltas
	conflicts        []job.ID
}

// add notes what is decided for a job.
func (c *change) add(j *job.Job, decide func(*job.Job) job.Decision, decided map[job.ID]*decision) error {
	d := decided[j.ID]
	if d == nil {
		d = &decision{before: *j}
		d.kind = decide(j)
		d.after = *j
		decided[j.ID] = d
	} else if d.before.State != j.State || d.before.Attempt != j.Attempt {
		return fmt.Errorf("job %v was changed by somebody else meanwhile", j.ID)
	}
	from, to := &d.before, &d.after
	switch d.kind {
	case job.Leave:
	case job.Remove:
		c.leave(from)
		if isKeyed(from) {
			gone := *from
			gone.UniqueFor = 0
			c.freed = append(c.freed, &gone)
		}
	case job.Write:
		if (from.State == job.Running) != (to.State == job.Running) || to.State != job.Queued && to.State != job.Running && !to.State.Finished() {
			return fmt.Errorf("job %v from %s to %q: only Claim and Settle do that", from.ID, from.State, to.State)
		}
		if from.State.Finished() && to.State == job.Queued && isKeyed(from) {
			c.taken = append(c.taken, d)
		} else {
			c.put(d)
		}
	}
	return nil
}

// leave takes a job out of the table it is in.
func (c *change) leave(from *job.Job) {
	state := from.State
	if state.Finished() {
		state = job.Completed // one table for all
	}
	if c.gone == nil {
		c.gone = map[job.State][]job.ID{}
	}
	c.gone[state] = append(c.gone[state], from.ID)
	c.deltas.add(from.Queue, from.Kind, from.State, -1)
}

// put writes a job as it was decided.
func (c *change) put(d *decision) {
	from, to := &d.before, d.writable()
	if from.State == job.Running {
		c.running = append(c.running, to)
		return
	}
	c.leave(from)
	c.deltas.add(to.Queue, to.Kind, to.State, 1)
	switch {
	case to.State == job.Queued:
		c.queued = append(c.queued, to)
	case from.State == job.Queued:
		c.finished = append(c.finished, to)
		if isKeyed(to) {
			c.freed = append(c.freed, to)
		}
	default:
		to.Finished = from.Finished
		c.finished = append(c.finished, to)
	}
}

// writable is the job as it was, with the fields that Change writes as they were decided.
func (d *decision) writable() *job.Job {
	to := d.before
	to.State, to.Queue, to.Priority, to.RunAt, to.Delay = d.after.State, d.after.Queue, d.after.Priority, d.after.RunAt, d.after.Delay
	to.Spared, to.MaxAttempts, to.CancelRequested, to.Detail = d.after.Spared, d.after.MaxAttempts, d.after.CancelRequested, d.after.Detail
	to.Finished = time.Time{}
	return &to
}

// write writes all that was added.
func (c *change) write(ctx context.Context) error {
	if err := c.takeKeys(ctx); err != nil {
		return err
	}
	run := func(statement string, n int, args func() []any) func() error {
		return func() error {
			if n == 0 {
				return nil
			}
			_, err := c.r.ids(ctx, c.s.sql(statement), args()...)
			return err
		}
	}
	remove := func(statement string, state job.State) func() error {
		return run(statement, len(c.gone[state]), func() []any { return []any{uuids(c.gone[state])} })
	}
	for _, step := range []func() error{
		remove("change_delete_queued", job.Queued),
		remove("change_delete_running", job.Running),
		remove("change_delete_finished", job.Completed),
		run("change_running", len(c.running), func() []any { return cancelArgs(c.running) }),
		run("change_queued", len(c.queued), func() []any { return columns(c.queued) }),
		run("change_finished", len(c.finished), func() []any { return finishedColumns(c.finished) }),
		run("keys_finish", len(c.freed), func() []any { return freedArgs(c.freed) }),
		run("count", len(c.deltas.rows), func() []any { return c.deltas.args() }),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// takeKeys puts the finished jobs that get their keys back, and notes the others as conflicts.
func (c *change) takeKeys(ctx context.Context) error {
	if len(c.taken) == 0 {
		return nil
	}
	jobs := make([]*job.Job, len(c.taken))
	for i, d := range c.taken {
		jobs[i] = &d.before
	}
	holders, err := takeKeys(ctx, c.s, c.r, jobs)
	if err != nil {
		return err
	}
	var keys []string
	var ids [][16]byte
	for _, d := range c.taken {
		if holders[d.before.UniqueKey] != d.before.ID {
			c.conflicts = append(c.conflicts, d.before.ID)
			continue
		}
		keys, ids = append(keys, d.before.UniqueKey), append(ids, d.before.ID)
		c.put(d)
	}
	if len(keys) > 0 { // held until UniqueFor is over: now until they finish
		_, err = c.r.ids(ctx, c.s.sql("keys_keep"), keys, ids)
	}
	return err
}
