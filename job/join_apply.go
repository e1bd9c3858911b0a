package job

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// Apply applies an action to the newest matching jobs of all stores, in one transaction per store. Unless the jobs are given by their IDs, it has to
// list them first, 50 of each store at a time.
func (j *Joined) Apply(ctx context.Context, f Filter, action Action) (ActionResult, error) {
	if err := j.enter(ctx, action.String()); err != nil {
		return ActionResult{}, err
	}
	var done ActionResult
	if ids := distinct(slices.Clone(f.IDs)); len(ids) > 0 && f.Limit > len(ids) {
		answers := askAll(ctx, j, 0, func(ctx context.Context, p *part) (ActionResult, error) { return p.Apply(ctx, f, action) })
		for _, a := range answers {
			done.add(a.got)
		}
		done.Next = ID{}
		if err := allFailed(answers); err != nil && done.Changed+done.Skipped+done.Conflicts < len(ids) {
			return done, err
		}
		return done, nil
	}
	chosen, next, err := j.newest(ctx, f)
	if err != nil {
		return done, err
	}
	for _, p := range j.parts {
		ids := chosen[p.index]
		if len(ids) == 0 {
			continue
		}
		of := f
		of.IDs, of.Before, of.Limit = ids, ID{}, len(ids)
		a := ask(ctx, j, p, 0, func(ctx context.Context, p *part) (ActionResult, error) { return p.Apply(ctx, of, action) })
		if a.err != nil {
			return done, a.err
		}
		done.add(a.got)
	}
	done.Next = next
	return done, nil
}

// newest returns the IDs of the newest f.Limit jobs that match, by store. If there are that many, next is the last of them.
func (j *Joined) newest(ctx context.Context, f Filter) (chosen [][]ID, next ID, err error) {
	chosen = make([][]ID, len(j.parts))
	pages := make([][]ID, len(j.parts)) // listed, but not chosen yet
	before := make([]ID, len(j.parts))
	for i := range before {
		before[i] = f.Before
	}
	over := make([]bool, len(j.parts))
	n := 0
	for n < f.Limit {
		best := -1
		for i, p := range j.parts {
			if len(pages[i]) == 0 && !over[i] {
				page := f
				page.Before, page.Limit = before[i], min(mostListed, f.Limit-n)
				a := ask(ctx, j, p, 0, func(ctx context.Context, p *part) ([]*Job, error) { return p.List(ctx, page) })
				if a.err != nil {
					return nil, ID{}, fmt.Errorf("list jobs: %w", a.err)
				}
				for _, job := range a.got {
					pages[i] = append(pages[i], job.ID)
				}
				if over[i] = len(a.got) < page.Limit; len(a.got) > 0 {
					before[i] = pages[i][len(pages[i])-1]
				}
			}
			if len(pages[i]) > 0 && (best < 0 || bytes.Compare(pages[i][0][:], pages[best][0][:]) > 0) {
				best = i
			}
		}
		if best < 0 {
			return chosen, ID{}, nil
		}
		id := pages[best][0]
		chosen[best], pages[best] = append(chosen[best], id), pages[best][1:]
		if n++; n == f.Limit {
			next = id
		}
	}
	return chosen, next, nil
}
