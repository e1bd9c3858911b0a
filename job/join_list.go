package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// List asks all stores concurrently and returns the newest jobs. It has up to f.Limit jobs of each store in memory. It fails if a store does not
// answer that may have some of the jobs.
func (j *Joined) List(ctx context.Context, f Filter) ([]*Job, error) {
	if err := j.enter(ctx, "list jobs"); err != nil {
		return nil, err
	}
	parts := j.parts
	if len(f.IDs) > 0 {
		if holders := j.located.holders(f.IDs); holders != nil {
			parts = holders
		}
	}
	answers := askSome(ctx, j, parts, 0, func(ctx context.Context, p *part) ([]*Job, error) { return p.List(ctx, f) })
	batches := make([][]*Job, len(answers))
	found := map[ID]bool{}
	for i, a := range answers {
		batches[i] = a.got
		for _, job := range a.got {
			found[job.ID] = true
		}
	}
	if err := allFailed(answers); err != nil && !foundAll(f.IDs, found) {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	all := mergeBatches(batches, func(a, b *Job) bool { return bytes.Compare(a.ID[:], b.ID[:]) > 0 })
	return all[:min(len(all), max(f.Limit, 0))], nil
}

// foundAll reports whether all jobs that were asked for by ID were found.
func foundAll(ids []ID, found map[ID]bool) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id ID) bool { return !found[id] })
}

// Watch asks all stores for the job.
func (j *Joined) Watch(ctx context.Context, id ID, d time.Duration) (Tree, error) {
	if err := j.enter(ctx, "watch a job"); err != nil {
		return Tree{}, err
	}
	parts := j.parts
	if p := j.located.find(id); p != nil {
		parts = []*part{p}
	}
	answers := askSome(ctx, j, parts, 0, func(ctx context.Context, p *part) (Tree, error) { return p.Watch(ctx, id, d) })
	return firstFound(answers, ErrNotFound)
}

// SendCommand leaves a command at one of the stores that list the worker: always the same one, so that commands stay in order.
func (j *Joined) SendCommand(ctx context.Context, worker string, o Command) error {
	if err := j.enter(ctx, "send a command to a worker"); err != nil {
		return err
	}
	var answers []answer[struct{}]
	for _, p := range j.ranked(workerKeys + worker) {
		a := ask(ctx, j, p, 0, func(ctx context.Context, p *part) (struct{}, error) { return struct{}{}, p.SendCommand(ctx, worker, o) })
		answers = append(answers, a)
		if a.err == nil {
			break
		}
		if p.ready(ctx, false) == nil && !errors.Is(a.err, ErrNoWorker) {
			return a.err // such as too many commands
		}
	}
	_, err := firstFound(answers, ErrNoWorker)
	return err
}

// firstFound returns the first answer without an error. If there is none, it returns the error of a store that does not answer, or else absent.
func firstFound[T any](answers []answer[T], absent error) (T, error) {
	var none T
	var failed error
	for _, a := range answers {
		switch {
		case a.err == nil:
			return a.got, nil
		case failed == nil || errors.Is(failed, absent):
			failed = a.err
		}
	}
	return none, failed
}
