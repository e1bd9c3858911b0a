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

	"github.com/meanwhile-go/meanwhile/job"
)

// mostWoken bounds how many lanes a claim looks at again, so that none takes long. The next one goes on.
const mostWoken = 2000

// laned are the queues that had lanes, and those that had limits, when this process claimed from them last.
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

// freed returns the queues with limits in which others may start when these jobs are settled. Of one that is queued again it is not known
// where it ran.
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

// lockQueue locks a queue, whose row is made when it is new.
func (s *Store) lockQueue(ctx context.Context, r runner, queue string, q *job.LaneQueue, at *time.Time) (paused bool, err error) {
	var limits pgtype.Text
	var full, held, paid pgtype.Timestamptz
	to := []any{&paused, &limits, &q.Turn, &full, &held, &paid, &q.Overrides, at}
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

// refresh brings the lanes up to date that have changed, or whose time has come, and that of the jobs without a key.
func (cl *claiming) refresh() error {
	found, err := cl.read(nil)
	if err == nil {
		cl.settle(found, nil)
	}
	return err
}

// A laneState is a lane as it is kept, and what its rows say.
type laneState struct {
	job.Lane
	due    int       // the highest priority of a due job
	next   time.Time // when the first job that is not due becomes so, or its lane goes on that was throttled
	queued bool
}

// settle finds out whether jobs of lanes may start, and writes the lanes. What is known of some is served.
func (cl *claiming) settle(found []laneState, served map[string]job.Lane) {
	var put lanePut
	for _, l := range found {
		if s, ok := served[l.Key]; ok {
			l.Turn, l.Served, l.Running, l.Full, l.Paid = s.Turn, s.Served, s.Running, s.Full, s.Paid
			l.Own = s.Own
		}
		put.add(cl, l, cl.hint(l))
	}
	cl.put(&put)
}

// put has lanes written.
func (cl *claiming) put(p *lanePut) {
	if len(p.keys) == 0 {
		return
	}
	cl.b.later(cl.s.sql("lane_put"), []any{cl.queue, p.keys, p.priorities, p.turns, p.full, p.wake, p.over, p.paid, p.served}, nil, nothing)
}

// read reads lanes, and what their rows say; keys of nil is all that changed.
func (cl *claiming) read(keys []string) ([]laneState, error) {
	var found []laneState
	cl.readLater(keys, cl.counts, &found)
	if err := cl.b.send(cl.ctx); err != nil {
		return nil, err
	}
	lanes := make([]*job.Lane, len(found))
	for i := range found {
		lanes[i] = &found[i].Lane
	}
	return found, cl.readMore(lanes)
}

// readLater has lanes read, without what readMore reads, and without how many of their jobs run unless that is to be counted.
func (cl *claiming) readLater(keys []string, counts bool, found *[]laneState) {
	var l laneState
	var full, next pgtype.Timestamptz
	to := []any{&l.Key, &l.Priority, &l.Turn, &full, &l.Running, &l.due, &next, &l.queued}
	cl.b.later(cl.s.sql("lane_read"), []any{cl.queue, keys, cl.at, counts, mostWoken}, to, func() error {
		l.Full, l.next = timeOf(full), timeOf(next)
		*found = append(*found, l)
		return nil
	})
}

// readMore reads what lanes_read and lanes_open leave out, where limits need it.
func (cl *claiming) readMore(lanes []*job.Lane) error {
	if each := cl.lanes.Limits.EachKey; each.Units.N == 0 && each.Weight <= 1 && cl.lanes.Overrides == 0 {
		return nil
	}
	return cl.s.readMore(cl.ctx, cl.b, cl.queue, lanes)
}

// readMore reads what is kept of the units and of the turns of lanes, and the limits of their keys alone.
func (s *Store) readMore(ctx context.Context, r runner, queue string, lanes []*job.Lane) error {
	byKey, keys := make(map[string]*job.Lane, len(lanes)), make([]string, len(lanes))
	for i, l := range lanes {
		keys[i], byKey[l.Key] = l.Key, l
	}
	var key string
	var paid pgtype.Timestamptz
	var served int
	var own pgtype.Text
	return r.each(ctx, s.sql("lane_more"), []any{queue, keys}, []any{&key, &paid, &served, &own}, func() error {
		l := byKey[key]
		l.Paid, l.Served = timeOf(paid), served
		return decodeOverride(key, own, &l.Own)
	})
}

// lanePut are the columns of lanes to write.
type lanePut struct {
	keys       []string
	priorities []int16
	turns      []int64
	full, wake []*time.Time
	paid       []*time.Time
	served     []int32
	over       []bool
}

// hint returns what is to be kept of a lane.
func (cl *claiming) hint(l laneState) job.LaneHint {
	hint := job.LaneHint{Priority: l.due, Wake: l.next}
	limits := cl.lanes.Limits
	switch {
	case l.due > 0 && !l.Open(limits, cl.at):
		hint = job.LaneHint{}
		if next := l.Lane.Next(limits, cl.at); next.After(cl.at) {
			hint.Wake = next
		}
	case !l.queued && l.Idle().After(cl.at) && l.Idle().After(hint.Wake):
		hint.Wake = l.Idle()
	}
	hint.None = !l.queued && hint.Wake.IsZero()
	return hint
}

// add adds a lane as it is to be now. One of which no job could start until now gets in line behind the others.
func (p *lanePut) add(cl *claiming, l laneState, hint job.LaneHint) {
	if hint.Priority != l.Priority {
		cl.lanes.Turn++
		l.Turn, l.Served = cl.lanes.Turn, 0
	}
	p.keys, p.priorities, p.turns = append(p.keys, l.Key), append(p.priorities, int16(hint.Priority)), append(p.turns, l.Turn)
	p.full, p.wake = append(p.full, instant(l.Full)), append(p.wake, instant(hint.Wake))
	p.paid, p.over = append(p.paid, instant(l.Paid)), append(p.over, hint.None)
	p.served = append(p.served, int32(l.Served))
}

// end has what is kept of the queue written, and returns what says when to claim again, once the transaction is over; zero for never.
func (cl *claiming) end() (next func() time.Duration) {
	var wake pgtype.Timestamptz
	args := []any{cl.queue, cl.lanes.Turn, instant(cl.lanes.Full), instant(cl.lanes.Paid), cl.most()}
	cl.b.later(cl.s.sql("lane_queue"), args, []any{&wake, &cl.keyed}, nothing)
	return func() time.Duration {
		limited := cl.limited()
		cl.s.laned.set(cl.queue, limited || cl.keyed, limited)
		switch {
		case cl.lanes.Left(cl.at) == 0:
			return cl.lanes.Next(cl.at).Sub(cl.at)
		case !wake.Valid:
			return 0
		}
		return max(wake.Time.Sub(cl.at), time.Microsecond)
	}
}

// Open returns lanes that have due jobs, and may start them.
func (cl *claiming) Open(top int, after, until int64, n int) ([]job.Lane, error) {
	var found []job.Lane
	var l job.Lane
	var full pgtype.Timestamptz
	args := []any{cl.queue, top, after, until, n, cl.counts, cl.c.Kinds != nil, cl.at}
	err := cl.b.each(cl.ctx, cl.s.sql("lane_open"), args, []any{&l.Key, &l.Priority, &l.Turn, &full, &l.Running}, func() error {
		if l.Full = timeOf(full); len(found) == 0 || found[0].Priority == l.Priority {
			found = append(found, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b job.Lane) int { return cmp.Compare(a.Turn, b.Turn) })
	lanes := make([]*job.Lane, len(found))
	for i := range found {
		lanes[i] = &found[i]
	}
	return found, cl.readMore(lanes)
}

// Costs returns what due jobs of lanes cost.
func (cl *claiming) Costs(lanes []job.Lane, want []int) ([][]int, error) {
	costs := make([][]int, len(lanes))
	keys, wants := make([]string, len(lanes)), make([]int32, len(lanes))
	for i, l := range lanes {
		keys[i], wants[i] = l.Key, int32(want[i])
	}
	var lane, cost int
	args := []any{cl.queue, lanes[0].Priority, keys, wants, cl.at, cl.c.Kinds}
	err := cl.b.each(cl.ctx, cl.s.sql("lane_cost"), args, []any{&lane, &cost}, func() error {
		costs[lane-1] = append(costs[lane-1], cost)
		return nil
	})
	return costs, err
}

// Take takes due jobs of lanes, and reads what is left of them.
func (cl *claiming) Take(lanes []job.Lane, want []int) ([]job.Taken, error) {
	got, place := make([]job.Taken, len(lanes)), make(map[string]int, len(lanes))
	keys, wants, all := make([]string, 0, len(lanes)), make([]int32, 0, len(lanes)), make([]string, len(lanes))
	for i, l := range lanes {
		place[l.Key], all[i] = i, l.Key
		if want[i] > 0 {
			keys, wants = append(keys, l.Key), append(wants, int32(want[i]))
		}
	}
	take := "lane_take"
	if cl.strict {
		take = "lane_give"
	}
	var r row
	var taken []*job.Job
	args := []any{cl.queue, lanes[0].Priority, keys, wants, cl.at, cl.c.Worker, int64(cl.c.Session), cl.c.Kinds, cl.c.Call}
	cl.b.later(cl.s.sql(take), args, r.common(), func() error {
		j, err := r.running()
		if err == nil {
			of := &got[place[j.LimitKey]]
			of.N++
			of.Cost += j.Cost
			taken = append(taken, j)
		}
		return err
	})
	cl.after = nil
	cl.readLater(all, false, &cl.after)
	err := cl.b.send(cl.ctx)
	slices.SortFunc(taken, func(a, b *job.Job) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	cl.taken = append(cl.taken, taken...)
	return got, err
}

// Keep has written what became of the lanes that Take was called for.
func (cl *claiming) Keep(lanes []job.Lane) error {
	served := make(map[string]job.Lane, len(lanes))
	for _, l := range lanes {
		served[l.Key] = l
	}
	cl.settle(cl.after, served)
	return nil
}
