package job

import (
	"context"
	"fmt"
	"slices"
)

// A placing is the jobs of an Insert that go to one store.
type placing struct {
	part *part
	at   []int // their indexes in the call, in order
}

// Insert stores each job at the store where it belongs, see [Join]. The jobs of one store are inserted all or none.
func (j *Joined) Insert(ctx context.Context, jobs ...*Job) ([]ID, error) {
	if err := j.enter(ctx, "insert jobs"); err != nil {
		return nil, err
	}
	placings, err := j.chooseStores(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	ids := make([]ID, len(jobs))
	for n, to := range placings {
		of := make([]*Job, len(to.at))
		for i, at := range to.at {
			of[i] = jobs[at]
		}
		a := ask(ctx, j, to.part, 0, func(ctx context.Context, p *part) ([]ID, error) { return p.Insert(ctx, of...) })
		switch {
		case a.err != nil && n > 0:
			return nil, fmt.Errorf("insert jobs, of which those for other stores are stored: %w", a.err)
		case a.err != nil:
			return nil, fmt.Errorf("insert jobs: %w", a.err)
		}
		for i, at := range to.at {
			ids[at] = a.got[i]
		}
	}
	return ids, nil
}

// chooseStores chooses a store for each job. If a job can only go to a store that does not answer, it fails before anything is stored.
func (j *Joined) chooseStores(ctx context.Context, jobs []*Job) (placings []*placing, err error) {
	add := func(p *part, at int) {
		for _, to := range placings {
			if to.part == p {
				to.at = append(to.at, at)
				return
			}
		}
		placings = append(placings, &placing{p, []int{at}})
	}
	free := []int(nil)
	for i, job := range jobs {
		limited, err := j.isLimited(ctx, job.Queue)
		if err != nil {
			return nil, err
		}
		key, must := "", true
		switch {
		case limited:
			key = queueKeys + job.Queue
		case job.UniqueKey != "":
			key = uniqueKeys + job.UniqueKey
		case job.LimitKey != "":
			key, must = laneKeys+job.Queue+" "+job.LimitKey, false
		default:
			free = append(free, i)
			continue
		}
		p, err := j.choose(ctx, key, must)
		if err != nil {
			return nil, err
		}
		add(p, i)
	}
	if len(free) == 0 {
		return placings, nil
	}
	if len(placings) == 0 {
		p, err := j.choose(ctx, jobKeys+jobs[free[0]].ID.String(), false)
		if err != nil {
			return nil, err
		}
		return []*placing{{p, free}}, nil
	}
	first := placings[0]
	first.at = append(first.at, free...)
	slices.Sort(first.at)
	return placings, nil
}

// choose returns the store that owns a key. If that one does not answer, it returns the next one that does, or with must an error.
func (j *Joined) choose(ctx context.Context, key string, must bool) (*part, error) {
	ranked := j.ranked(key)
	var first error
	for _, p := range ranked {
		err := p.ready(ctx, true)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
		if must {
			break
		}
	}
	return nil, first
}
