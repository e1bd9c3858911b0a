package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/internal/lanes"
	"github.com/meanwhile-go/meanwhile/job"
)

// laned has the queues that had lanes, and those that had limits, when this process last claimed from them.
type laned struct {
	mu      sync.Mutex
	queues  map[string]bool
	limited map[string]bool
}

func (l *laned) set(queue string, has, limited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues == nil {
		l.queues, l.limited = map[string]bool{}, map[string]bool{}
	}
	if l.queues[queue] = true; !has {
		delete(l.queues, queue)
	}
	if l.limited[queue] = true; !limited {
		delete(l.limited, queue)
	}
}

func (l *laned) has(queue string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues[queue]
}

// freed returns the queues with limits in which other jobs may start after these outcomes. A job that is queued again may have run in another queue.
func (l *laned) freed(o outcomes) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var queues []string
	for queue := range l.limited {
		if len(o.queued) > 0 || slices.ContainsFunc(o.finished, func(j *job.Job) bool { return j.Queue == queue }) {
			queues = append(queues, queue)
		}
	}
	return queues
}

// lockQueue locks a queue, and creates its row if it is new.
func (s *Store) lockQueue(ctx context.Context, r runner, queue string, q *job.LaneQueue, at *time.Time) (paused bool, err error) {
	var limits pgtype.Text
	var full, held, paid pgtype.Timestamptz
	to := []any{&paused, &limits, &full, &held, &paid, &q.Overrides, at}
	err = r.each(ctx, s.sql("lane_lock"), []any{queue}, to, func() error { return nil })
	if err != nil {
		return false, err
	}
	q.Full, q.Held, q.Paid = timeOf(full), timeOf(held), timeOf(paid)
	return paused, decodeLimits(queue, limits, &q.Limits)
}

func decodeLimits(queue string, text pgtype.Text, l *job.Limits) error {
	if !text.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(text.String), l); err != nil {
		return fmt.Errorf("limits of queue %s: %w", queue, err)
	}
	return nil
}

// readKept reads, as requested, the state of lanes (kept), the limits of their keys (own), and how many of their jobs are running (counts).
func (s *Store) readKept(ctx context.Context, r runner, queue string, of []job.Lane, counts, kept, own bool) error {
	keys := make([]string, len(of))
	for i := range of {
		keys[i] = of[i].Key
	}
	var n, running int
	var full, paid, held pgtype.Timestamptz
	var limits pgtype.Text
	to := []any{&n, &full, &paid, &held, &limits, &running}
	return r.each(ctx, s.sql("lane_kept"), []any{queue, keys, counts, kept, own}, to, func() error {
		l := &of[n-1]
		l.Full, l.Paid, l.Held, l.Running = timeOf(full), timeOf(paid), timeOf(held), running
		return decodeOverride(l.Key, limits, &l.Own)
	})
}

// Complete reads the state of lanes, and if needed how many of their jobs are running.
func (cl *claiming) Complete(of []job.Lane, most int) error {
	atOnce := cl.lanes.Limits.EachKey.AtOnce()
	own := cl.lanes.Overrides > 0
	return cl.s.readKept(cl.ctx, cl.b, cl.queue, of, own || atOnce > 0 && atOnce <= most, cl.kept, own)
}

// A headRow is the row of a waiting job of a lane.
type headRow struct {
	lane     int
	key      string
	priority int
	runAt    pgtype.Timestamptz
	id       [16]byte
	place    pgtype.TID
}

// head returns the head for the row. Its number is the physical place of the row, which another job may get later.
func (r *headRow) head() lanes.Head {
	return lanes.Head{
		Priority: r.priority, RunAt: r.runAt.Time.UnixMicro(), ID: r.id, Row: int64(r.place.BlockNumber)<<16 | int64(r.place.OffsetNumber),
	}
}

// heads reads waiting jobs of n lanes, by the indexes of the lanes.
func (cl *claiming) heads(n int, statement string, args ...any) ([][]lanes.Head, error) {
	found := make([][]lanes.Head, n)
	var r headRow
	err := cl.b.each(cl.ctx, cl.s.sql(statement), args, []any{&r.lane, &r.priority, &r.runAt, &r.id, &r.place}, func() error {
		found[r.lane-1] = append(found[r.lane-1], r.head())
		return nil
	})
	return found, err
}

// Heads returns the first waiting jobs of lanes.
func (cl *claiming) Heads(of []lanes.HeadsOf, n int) ([][]lanes.Head, error) {
	keys, below := make([]string, len(of)), make([]int16, len(of))
	for i, l := range of {
		keys[i], below[i] = l.Key, int16(l.Below)
	}
	return cl.heads(len(of), "lane_heads", cl.queue, keys, below, n)
}

// More returns the due jobs of lanes that come after given ones.
func (cl *claiming) More(of []lanes.MoreOf) ([][]lanes.Head, error) {
	keys, priorities, want := make([]string, len(of)), make([]int16, len(of)), make([]int32, len(of))
	after, ids := make([]time.Time, len(of)), make([][16]byte, len(of))
	for i, l := range of {
		keys[i], priorities[i], want[i] = l.Key, int16(l.Priority), int32(l.N)
		after[i], ids[i] = time.UnixMicro(l.After.RunAt), l.After.ID
	}
	return cl.heads(len(of), "lane_rest", cl.queue, keys, priorities, after, ids, want, cl.at)
}

// Load returns the next lanes for the background search.
func (cl *claiming) Load(after string, n, rowsOfLane int) (found []lanes.Loaded, err error) {
	var r headRow
	to := []any{&r.key, &r.priority, &r.runAt, &r.id, &r.place}
	err = cl.b.each(cl.ctx, cl.s.sql("lane_load"), []any{cl.queue, after, n, rowsOfLane}, to, func() error {
		if len(found) == 0 || found[len(found)-1].Key != r.key {
			found = append(found, lanes.Loaded{Key: r.key})
		}
		l := &found[len(found)-1]
		l.Heads = append(l.Heads, r.head())
		return nil
	})
	return found, err
}

// Plain returns which jobs without a key are due, as read at the start of the claim.
func (cl *claiming) Plain() (lanes.Due, error) {
	if cl.plain != nil {
		return *cl.plain, nil
	}
	r := new(plainRow)
	err := cl.b.each(cl.ctx, cl.s.sql("lane_plain"), []any{cl.queue, cl.at}, r.columns(), nothing)
	cl.plain = r.due()
	return *cl.plain, err
}

// A plainRow is what lane_plain returns.
type plainRow struct {
	priority pgtype.Int4
	next     pgtype.Timestamptz
	queued   pgtype.Bool
}

func (r *plainRow) columns() []any { return []any{&r.priority, &r.next, &r.queued} }

func (r *plainRow) due() *lanes.Due {
	return &lanes.Due{Priority: int(r.priority.Int32), Wake: timeOf(r.next), Queued: r.queued.Bool}
}

// First returns which jobs are due in lanes whose jobs run in order.
func (cl *claiming) First(keys []string) ([]lanes.Due, error) {
	due := make([]lanes.Due, len(keys))
	var n int
	var d lanes.Due
	var next pgtype.Timestamptz
	err := cl.b.each(cl.ctx, cl.s.sql("lane_first"), []any{cl.queue, keys, cl.at}, []any{&n, &d.Priority, &next, &d.Queued}, func() error {
		d.Wake = timeOf(next)
		due[n-1] = d
		return nil
	})
	return due, err
}

// Has returns those of the lanes that have a due job of a priority.
func (cl *claiming) Has(keys []string, priority int) (map[string]bool, error) {
	has := map[string]bool{}
	var key string
	err := cl.b.each(cl.ctx, cl.s.sql("lane_due"), []any{cl.queue, keys, int16(priority), cl.at}, []any{&key}, func() error {
		has[key] = true
		return nil
	})
	return has, err
}

// Costs returns the costs of due jobs of lanes.
func (cl *claiming) Costs(keys []string, want []int, priority int) ([][]int, error) {
	costs := make([][]int, len(keys))
	var lane, cost int
	args := []any{cl.queue, priority, keys, wants(want), cl.at, cl.c.Kinds}
	err := cl.b.each(cl.ctx, cl.s.sql("lane_cost"), args, []any{&lane, &cost}, func() error {
		costs[lane-1] = append(costs[lane-1], cost)
		return nil
	})
	return costs, err
}

func wants(want []int) []int32 {
	of := make([]int32, len(want))
	for i, n := range want {
		of[i] = int32(n)
	}
	return of
}

// Take takes the jobs of the given heads that are still queued.
func (cl *claiming) Take(priority int, wanted []lanes.Wanted) (map[int64]int, error) {
	ids, places, rows := make([][16]byte, len(wanted)), make([]pgtype.TID, len(wanted)), make(map[job.ID]int64, len(wanted))
	for i, w := range wanted {
		ids[i], places[i], rows[w.ID] = w.ID, pgtype.TID{BlockNumber: uint32(w.Row >> 16), OffsetNumber: uint16(w.Row), Valid: true}, w.Row
	}
	costs := make(map[int64]int, len(wanted))
	args := []any{cl.queue, int16(priority), ids, places, cl.at, cl.c.Worker, int64(cl.c.Session), cl.c.Call}
	err := cl.claimBy("lane_hold", args, func(j *job.Job) { costs[rows[j.ID]] = j.Cost })
	return costs, err
}

// TakeOf takes due jobs of lanes, in the order of each lane.
func (cl *claiming) TakeOf(keys []string, want []int, priority int) ([]job.Taken, error) {
	got, place := make([]job.Taken, len(keys)), make(map[string]int, len(keys))
	for i, key := range keys {
		place[key] = i
	}
	cl.plain = nil
	args := []any{cl.queue, priority, keys, wants(want), cl.at, cl.c.Worker, int64(cl.c.Session), cl.c.Kinds, cl.c.Call}
	err := cl.claimBy("lane_give", args, func(j *job.Job) {
		of := &got[place[j.LimitKey]]
		of.N++
		of.Cost += j.Cost
	})
	return got, err
}

// claimBy runs a statement that claims jobs.
func (cl *claiming) claimBy(name string, args []any, took func(j *job.Job)) error {
	var r row
	var taken []*job.Job
	err := cl.b.each(cl.ctx, cl.s.sql(name), args, r.common(), func() error {
		j, err := r.running()
		if err == nil {
			took(j)
			taken = append(taken, j)
		}
		return err
	})
	slices.SortFunc(taken, func(a, b *job.Job) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	cl.taken = append(cl.taken, taken...)
	return err
}

// Used does nothing: the rows of jobs that were taken are gone.
func (cl *claiming) Used(string, lanes.Head, bool) error { return nil }
