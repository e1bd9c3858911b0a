package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Claim claims due jobs for a worker.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	var claimed job.Claimed
	var taken []stored
	write := s.writeUnsynced
	if c.Durable {
		write = s.write
	}
	err := write(ctx, "claim jobs", func(t *txn) (err error) {
		claimed, taken, err = t.claim(c)
		return err
	})
	if err != nil {
		return job.Claimed{}, err
	}
	s.holdings.add(taken)
	return claimed, nil
}

// InsertAndClaim stores new jobs, and claims due jobs for a worker, in one transaction that is on disk when it returns.
func (s *Store) InsertAndClaim(ctx context.Context, jobs []*job.Job, c job.Claim) (ids []job.ID, claimed job.Claimed, err error) {
	var taken []stored
	err = s.write(ctx, "insert and claim jobs", func(t *txn) (err error) {
		if ids, err = t.insert(jobs); err == nil {
			claimed, taken, err = t.claim(c)
		}
		return err
	})
	if err != nil {
		return nil, job.Claimed{}, err
	}
	s.holdings.add(taken)
	return ids, claimed, nil
}

// A claimQueue is a queue to claim jobs from.
type claimQueue struct {
	id         int64
	name       string
	left       int            // of the queue's limit in this claim
	priorities []int64        // of its queued jobs, the highest first
	classes    any            // the classes to claim from, as JSON; nil for all
	lanes      *job.LaneQueue // nil if it has neither limits nor jobs with limit keys
}

func (t *txn) claim(c job.Claim) (job.Claimed, []stored, error) {
	if ok, err := t.beginClaim(c); err != nil || !ok {
		return job.Claimed{}, nil, err
	}
	queues, err := t.claimQueues(c)
	if err != nil {
		return job.Claimed{}, nil, err
	}
	var taken []stored
	claimed := job.Claimed{}
	if c.Since > 0 {
		if taken, err = t.readJobs((*txn).scanJob, statement("claim_again"), int64(c.Session), c.Since); err != nil {
			return job.Claimed{}, nil, err
		}
	}
	for i := range queues {
		if c.Expired {
			found, err := t.claimExpired(c, &queues[i], min(c.Limit-len(taken), queues[i].left), &claimed)
			if err != nil {
				return job.Claimed{}, nil, err
			}
			taken = append(taken, found...)
		}
	}
	for i := range queues {
		q := &queues[i]
		n := min(c.Limit-len(taken), q.left)
		if c.Limit <= len(taken) {
			break
		}
		var found []stored
		var next time.Duration
		if q.lanes != nil {
			found, next, err = t.claimLanes(c, q, n)
		} else {
			found, err = t.claimDue(c, q, n)
			if err == nil && len(taken)+len(found) < c.Limit {
				next, err = t.nextDue(q)
			}
		}
		if err != nil {
			return job.Claimed{}, nil, err
		}
		taken = append(taken, found...)
		if next > 0 && (claimed.Next == 0 || next < claimed.Next) {
			claimed.Next = next
		}
	}
	if len(taken) >= c.Limit {
		claimed.Next = 0
	}
	claimed.Jobs = make([]*job.Job, len(taken))
	for i, j := range taken {
		claimed.Jobs[i] = j.Job
	}
	return claimed, taken, nil
}

// claimExpired claims up to n jobs of a queue whose leases have expired.
func (t *txn) claimExpired(c job.Claim, q *claimQueue, n int, claimed *job.Claimed) ([]stored, error) {
	if n <= 0 {
		return nil, nil
	}
	found, err := t.readJobs((*txn).scanJob, statement("claim_expired"), q.id, t.now, q.classes, int64(n))
	if err != nil {
		return nil, err
	}
	for _, j := range found {
		if claimed.Expired == nil {
			claimed.Expired = map[job.ID]string{}
		}
		claimed.Expired[j.ID] = j.Worker
		j.Crashed++
	}
	q.left -= len(found)
	return found, t.holdExpired(c, found)
}

// claimDue claims up to n due jobs of a queue without lanes.
func (t *txn) claimDue(c job.Claim, q *claimQueue, n int) ([]stored, error) {
	var err error
	if q.priorities, err = t.priorities(q.id); err != nil {
		return nil, err
	}
	var due []stored
	for _, p := range q.priorities {
		if len(due) >= n {
			break
		}
		found, err := t.readJobs(scanDue(p), statement("claim_due"), q.id, p, t.now, q.classes, int64(n-len(due)))
		if err != nil {
			return nil, err
		}
		due = append(due, found...)
	}
	return due, t.holdDue(c, due)
}

// claimQueues returns those of the queues that exist and are not paused, each once.
func (t *txn) claimQueues(c job.Claim) ([]claimQueue, error) {
	queues := make([]claimQueue, 0, len(c.Queues))
	for _, q := range c.Queues {
		if q.Limit <= 0 {
			continue
		}
		row, err := one(t, statement("queue_find"), q.Queue)
		if err != nil {
			return nil, err
		}
		if row == nil || integer(row[1]) == 1 {
			continue
		}
		id := integer(row[0])
		if !slices.ContainsFunc(queues, func(q claimQueue) bool { return q.id == id }) {
			classes, err := t.claimClasses(id, c.Kinds)
			if err != nil {
				return nil, err
			}
			found := claimQueue{id: id, name: q.Queue, left: q.Limit, classes: classes}
			if found.lanes, err = t.laneQueue(q.Queue, row); err != nil {
				return nil, err
			}
			queues = append(queues, found)
		}
	}
	return queues, nil
}

// claimClasses returns the classes of a queue whose kind is one of the given kinds, as JSON, or nil if all classes are.
func (t *txn) claimClasses(queue int64, kinds []string) (any, error) {
	if kinds == nil {
		return nil, nil
	}
	wanted, all := []int64{}, true
	err := t.each(statement("claim_classes"), []any{queue}, func(v []driver.Value) error {
		if slices.Contains(kinds, text(v[1])) {
			wanted = append(wanted, integer(v[0]))
		} else {
			all = false
		}
		return nil
	})
	switch {
	case err != nil || all:
		return nil, err
	case len(wanted) == 0:
		return "[]", nil
	}
	return jsonOf(wanted), nil
}

// priorities returns the priorities of the queued jobs of a queue. It runs one query for each.
func (t *txn) priorities(queue int64) ([]int64, error) {
	var found []int64
	for below := int64(job.HighestPriority + 1); ; below = found[len(found)-1] {
		row, err := one(t, statement("claim_priority"), queue, below)
		if err != nil || row == nil {
			return found, err
		}
		found = append(found, integer(row[0]))
	}
}

// nextDue returns the time until the first job that is not due yet becomes due, or zero if there is none.
func (t *txn) nextDue(q *claimQueue) (time.Duration, error) {
	first := int64(0)
	for _, p := range q.priorities {
		row, err := one(t, statement("claim_next"), q.id, p, t.now)
		if err != nil {
			return 0, err
		}
		if row != nil && (first == 0 || integer(row[0]) < first) {
			first = integer(row[0])
		}
	}
	if first == 0 {
		return 0, nil
	}
	return time.Duration(first-t.now) * time.Microsecond, nil
}

// scanDue reads the columns of claim_due, which returns only those that may differ among waiting jobs of one priority. The names
// of the last class are kept, since the next job usually has the same.
func scanDue(priority int64) scanner {
	var name className
	last := int64(0)
	return func(t *txn, v []driver.Value) (found stored, err error) {
		if class := integer(v[2]); class != last {
			if name, err = t.className(class); err != nil {
				return stored{}, err
			}
			last = class
		}
		j := &job.Job{
			ID: idOf(v[1]), Kind: name.kind, Queue: name.queue, Args: blob(v[4]), Priority: int(priority),
			RunAt: timeOf(v[3]), MaxAttempts: usualAttempts, UniqueKey: text(v[8]),
		}
		if j.Created = j.RunAt; v[5] != nil {
			j.Created = timeOf(v[5])
		}
		if v[6] != nil {
			j.MaxAttempts = int(integer(v[6]))
		}
		if v[7] != nil {
			if err := scanCounts(j, text(v[7])); err != nil {
				return stored{}, err
			}
		}
		if v[10] != nil {
			if err := j.DecodeOptions([]byte(text(v[10]))); err != nil {
				return stored{}, err
			}
		}
		j.LimitKey = text(v[11])
		if v[9] == nil {
			return stored{j, integer(v[0]), last}, nil
		}
		return stored{j, integer(v[0]), last}, j.DecodeDetail([]byte(text(v[9])))
	}
}

// usualAttempts is the maximum of attempts that claim_due returns as null.
const usualAttempts = 20

// scanCounts reads the text of counts of a due job that was claimed before, or that holds its unique key for a time.
func scanCounts(j *job.Job, text string) error {
	uniqueFor := int64(0)
	if _, err := fmt.Sscanf(text, "%d %d %d %d", &j.Attempt, &j.Uncounted, &j.Crashed, &uniqueFor); err != nil {
		return fmt.Errorf("counts %q of job %v: %w", text, j.ID, err)
	}
	if uniqueFor >= 0 {
		j.UniqueFor = time.Duration(uniqueFor) * time.Microsecond
	}
	return nil
}

var (
	claimTake        = repeated("claim_take")
	claimTakeExpired = repeated("claim_take_expired")
)

// holdDue assigns queued jobs to the worker.
func (t *txn) holdDue(c job.Claim, jobs []stored) error {
	for _, j := range jobs {
		t.count(j.class, queued, -1)
		t.count(j.class, running, 1)
	}
	started := timeOf(t.now)
	seqs := make([]int64, len(jobs))
	for i, j := range jobs {
		j.hold(c.Worker, started)
		seqs[i] = j.seq
	}
	return ranges(seqs, func(from, to int64) error {
		_, err := t.exec(statement("claim_take_range"), t.now, c.Worker, int64(c.Session), c.Call, from, to)
		return err
	}, func(seqs []int64) error { return t.claimRows(c, claimTake, seqs) })
}

// holdExpired assigns running jobs to another worker.
func (t *txn) holdExpired(c job.Claim, jobs []stored) error {
	started := timeOf(t.now)
	seqs := make([]int64, len(jobs))
	for i, j := range jobs {
		j.hold(c.Worker, started)
		seqs[i] = j.seq
	}
	return t.claimRows(c, claimTakeExpired, seqs)
}

// hold assigns a job to a worker, as the statements of a claim do.
func (j stored) hold(worker string, started time.Time) {
	j.State, j.Started, j.Worker = job.Running, started, worker
	j.Attempt++
}

// claimRows runs a statement of a claim for several rows.
func (t *txn) claimRows(c job.Claim, take *many, seqs []int64) error {
	return take.chunks(len(seqs), func(sql string, from, size int) error {
		args := append(make([]any, 0, 4+size), t.now, c.Worker, int64(c.Session), c.Call)
		for _, seq := range seqs[from : from+size] {
			args = append(args, seq)
		}
		_, err := t.exec(sql, args...)
		return err
	})
}
