package job

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const levelEach = 30 * time.Second

// levelLoop records the lengths of the worker's queues in its stats.
func (r *run) levelLoop(ctx context.Context) error {
	for {
		if err := meanwhile.Sleep(ctx, levelEach/2+jitter(levelEach/2)); err != nil {
			return err
		}
		queues, err := r.callQueues(ctx)
		if fatal(err) {
			return err
		}
		if err == nil { // errors of the store are reported by the claim loop
			r.counters.saw(time.Now(), queues)
		}
	}
}

// callQueues returns the worker's queues that have jobs.
func (r *run) callQueues(ctx context.Context) ([]QueueInfo, error) {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	queues, err := r.store.Queues(call)
	load := r.load.Load()
	return slices.DeleteFunc(queues, func(q QueueInfo) bool {
		ours := slices.ContainsFunc(load.queues, func(c QueueConfig) bool { return c.Name == q.Name })
		return !ours || q.Queued+q.Running == 0
	}), err
}
