//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A limited is a queue with limits, for part of the jobs. It has few limit keys, so that its jobs wait for each other.
type limited struct {
	name   string
	keys   int // how many limit keys; zero for jobs without
	cost   int // maximum cost of a job
	limits job.Limits
}

// heldQueue is the queue whose discarded jobs hold their limit keys until the operator acts on them.
const heldQueue = "held"

var limitedQueues = []limited{
	{name: "bounded", limits: job.Limits{Running: 3}},
	{name: "paced", limits: job.Limits{Starts: job.Rate{N: 20, Per: time.Second, Burst: 5}}},
	{name: "metered", cost: 40, limits: job.Limits{Units: job.Rate{N: 300, Per: time.Second, Burst: 100}}},
	{name: "keyed", keys: 4, limits: job.Limits{Running: 6, EachKey: job.KeyLimits{Running: 2, Starts: job.Rate{N: 5, Per: time.Second, Burst: 3}}}},
	{name: "ordered", keys: 8, limits: job.Limits{EachKey: job.KeyLimits{InOrder: true}}},
	{name: heldQueue, keys: 8, limits: job.Limits{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}}},
}

// findLimited returns the queue with a name, or nil if that has no limits.
func findLimited(name string) *limited {
	if i := slices.IndexFunc(limitedQueues, func(l limited) bool { return l.name == name }); i >= 0 {
		return &limitedQueues[i]
	}
	return nil
}

// drawQueue sends a fifth of the jobs to queues with limits, and half of the jobs that fail to heldQueue, where failures matter.
func drawQueue(r *rand.Rand, kind string) []job.EnqueueOption {
	l := &limitedQueues[r.IntN(len(limitedQueues))]
	switch {
	case kind == "fail" && r.IntN(2) == 0:
		l = findLimited(heldQueue)
	case r.IntN(5) > 0:
		return nil
	}
	opts := []job.EnqueueOption{job.Queue(l.name)}
	if l.keys > 0 {
		opts = append(opts, job.LimitKey(strconv.Itoa(r.IntN(l.keys))))
	}
	if l.cost > 0 {
		opts = append(opts, job.Cost(r.IntN(l.cost+1)))
	}
	return opts
}

// workerQueues are all queues that a worker works on.
func workerQueues() []job.QueueConfig {
	queues := []job.QueueConfig{{Name: job.DefaultQueue}}
	for _, l := range limitedQueues {
		queues = append(queues, job.QueueConfig{Name: l.name})
	}
	return queues
}

func setLimits(ctx context.Context, store job.Store) error {
	for _, l := range limitedQueues {
		if err := store.SetLimits(ctx, l.name, l.limits); err != nil {
			return err
		}
	}
	return nil
}
