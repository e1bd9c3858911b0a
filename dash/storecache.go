package dash

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// fresh is for how long what was read from the store is shown to others: a bit less than the second between two looks of a
// page.
const fresh = 900 * time.Millisecond

// A storeCache is what many pages read of a store; each part is read once for all who ask within a moment.
type storeCache struct {
	counts  *singleFlight[[]job.Count]
	queues  *singleFlight[[]job.QueueInfo]
	workers *singleFlight[[]job.WorkerInfo]
	crons   *singleFlight[[]job.CronInfo]
	past    *singleFlight[*past]
}

func newStoreCache(s job.Store) *storeCache {
	l := &storeCache{}
	l.counts = newShared(s.Counts)
	l.queues = newShared(s.Queues)
	l.workers = newShared(func(ctx context.Context) ([]job.WorkerInfo, error) { return s.Workers(ctx) })
	l.crons = newShared(s.Crons)
	l.past = newShared((&historian{store: s}).read)
	return l
}

// A cachedStore answers what job.Why asks about a job and its limits, and about queues and workers, from what was read a moment ago: a page asks it
// about several jobs.
type cachedStore struct {
	job.Store
	h   *handler
	j   *job.Job
	use job.LimitUse
}

func (s cachedStore) List(context.Context, job.Filter) ([]*job.Job, error) {
	return []*job.Job{s.j}, nil
}

func (s cachedStore) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	return s.h.cache.queues.get(ctx)
}

func (s cachedStore) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	if len(names) > 0 {
		return s.Store.Workers(ctx, names...)
	}
	return s.h.cache.workers.get(ctx)
}

func (s cachedStore) Limits(context.Context, string, ...string) ([]job.LimitUse, error) {
	return []job.LimitUse{s.use}, nil
}

// limitUse returns how far the limits of a queue and a key are used.
func (h *handler) limitUse(ctx context.Context, queue, key string) (job.LimitUse, error) {
	return h.limitUses.get(limitUseOf(queue, key), func() (job.LimitUse, error) {
		uses, err := h.Store.Limits(ctx, queue, key)
		if err != nil {
			return job.LimitUse{}, err
		}
		return uses[0], nil
	})
}

// why says why a job, as it was read, does not run where the limits of its queue and its key are used so far.
func (h *handler) why(ctx context.Context, j *job.Job, use job.LimitUse) (string, error) {
	return job.Why(ctx, cachedStore{h.Store, h, j, use}, j.ID)
}

// forget lets what is read next be read anew, after a change.
func (l *storeCache) forget() {
	l.counts.forget()
	l.queues.forget()
	l.workers.forget()
	l.crons.forget()
}

// limitUseOf is by what the use of the limits of a queue and a key is remembered.
func limitUseOf(queue, key string) string { return queue + " " + key }
