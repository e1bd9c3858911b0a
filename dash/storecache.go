package dash

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// fresh is how long values read from the store are cached: a bit less than the second between two renderings of a page.
const fresh = 900 * time.Millisecond

// A storeCache caches what many pages read from a store; each part is read once for all concurrent readers.
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

// A cachedStore answers the calls of job.Why with a job, its limits, queues and workers that were read a moment ago, since a page calls job.Why for
// several jobs.
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

// limitUse returns the use of the limits of a queue and a key.
func (h *handler) limitUse(ctx context.Context, queue, key string) (job.LimitUse, error) {
	return h.limitUses.get(limitUseOf(queue, key), func() (job.LimitUse, error) {
		uses, err := h.Store.Limits(ctx, queue, key)
		if err != nil {
			return job.LimitUse{}, err
		}
		return uses[0], nil
	})
}

// why returns why a job, as it was read, does not run with this use of the limits of its queue and its key.
func (h *handler) why(ctx context.Context, j *job.Job, use job.LimitUse) (string, error) {
	return job.Why(ctx, cachedStore{h.Store, h, j, use}, j.ID)
}

// forget makes the next reads read anew, after a change.
func (l *storeCache) forget() {
	l.counts.forget()
	l.queues.forget()
	l.workers.forget()
	l.crons.forget()
}

// limitUseOf returns the cache key for the limit use of a queue and a limit key.
func limitUseOf(queue, key string) string { return queue + " " + key }
