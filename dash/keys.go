package dash

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostKeyed = 500                    // jobs of a queue whose limit keys are counted
	mostKeys  = 10                     // keys that are shown
	keysTime  = 500 * time.Millisecond // time limit for reading jobs
)

// waitingKeys are the limit keys of a queue with the most waiting jobs.
type waitingKeys struct {
	Rows []keyRow
	Left int  // keys that are not shown
	Read int  // queued jobs that were read
	Part bool // there are more queued jobs
	Late bool // there was no time to read them

	newest    *job.Job     // newest due job among the first mostNewest; nil for none
	newestUse job.LimitUse // of its limits, or those of the queue if newest is nil
}

// A keyRow is a limit key of a queue.
type keyRow struct {
	Key     string
	Queued  int
	Running int
	Oldest  job.ID // oldest of the queued jobs that were read
	Why     string // why that one does not run
}

// keysOf returns the keys of a queue. They are counted among its newest jobs, since no store knows the number of jobs of each key. If no limits apply
// to single keys, they are counted only if one of the few newest jobs has a key.
func (h *handler) keysOf(ctx context.Context, queue string, use job.LimitUse) (*waitingKeys, error) {
	return h.waiting.get(queue, func() (*waitingKeys, error) {
		if use.EachKey == (job.KeyLimits{}) && use.Overrides == 0 {
			if few, err := h.findKeys(ctx, queue, use, mostNewest); err != nil || len(few.Rows) == 0 {
				return few, err
			}
		}
		return h.findKeys(ctx, queue, use, mostKeyed)
	})
}

// findKeys counts the keys of the newest queued jobs.
func (h *handler) findKeys(ctx context.Context, queue string, use job.LimitUse, most int) (*waitingKeys, error) {
	found := &waitingKeys{newestUse: use}
	rows, oldest := map[string]*keyRow{}, map[string]*job.Job{}
	limited, cancel := context.WithTimeoutCause(ctx, keysTime, errLate)
	defer cancel()
	// A store may sort all queued jobs for each List, so there is a single one, which also serves for what the page shows of the newest jobs.
	jobs, err := h.Store.List(limited, job.Filter{Queues: []string{queue}, States: []job.State{job.Queued}, Limit: most + 1})
	switch {
	case err != nil && errors.Is(context.Cause(limited), errLate):
		return &waitingKeys{Late: true, Part: true}, nil
	case err != nil:
		return nil, err
	}
	found.Read, found.Part = min(len(jobs), most), len(jobs) > most
	now := time.Now()
	for i, j := range jobs[:found.Read] {
		if found.newest == nil && i < mostNewest && j.View(now) == job.Queued {
			found.newest = j
		}
		if j.LimitKey == "" {
			continue
		}
		row := rows[j.LimitKey]
		if row == nil {
			row = &keyRow{Key: j.LimitKey}
			rows[j.LimitKey] = row
		}
		row.Queued++
		row.Oldest, oldest[j.LimitKey] = j.ID, j
	}
	for _, row := range rows {
		found.Rows = append(found.Rows, *row)
	}
	slices.SortFunc(found.Rows, func(a, b keyRow) int { return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Key, b.Key)) })
	found.Left = max(len(found.Rows)-mostKeys, 0)
	found.Rows = found.Rows[:min(len(found.Rows), mostKeys)]
	return found, h.explainKeys(ctx, queue, found, oldest)
}

// explainKeys fills in how many jobs of each key run, why its oldest job does not, and the limit use of the newest job.
func (h *handler) explainKeys(ctx context.Context, queue string, found *waitingKeys, oldest map[string]*job.Job) error {
	var keys []string
	for i := range found.Rows {
		keys = append(keys, found.Rows[i].Key)
	}
	if found.newest != nil && found.newest.LimitKey != "" {
		keys = append(keys, found.newest.LimitKey)
	}
	if len(keys) == 0 {
		return nil
	}
	uses, err := h.Store.Limits(ctx, queue, keys...)
	if err != nil {
		return err
	}
	for i := range found.Rows {
		row := &found.Rows[i]
		row.Running = uses[i].KeyRunning
		if row.Why, err = h.why(ctx, oldest[row.Key], uses[i]); err != nil {
			return err
		}
	}
	if len(keys) > len(found.Rows) {
		found.newestUse = uses[len(keys)-1]
	}
	return nil
}
