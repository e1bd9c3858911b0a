package job

import (
	"context"
	"fmt"
)

// Pause pauses a queue at all stores, or resumes it. If a store does not answer, the others have done it, and the error names that store: call it
// again later.
func (j *Joined) Pause(ctx context.Context, queue string, paused bool) error {
	if err := j.enter(ctx, "pause or resume a queue"); err != nil {
		return err
	}
	return allFailed(askAll(ctx, j, 0, func(ctx context.Context, p *part) (struct{}, error) { return struct{}{}, p.Pause(ctx, queue, paused) }))
}

// SetLimits sets the limits of a queue at all stores: each applies them to the jobs of the queue that it has, and new jobs go to the store that owns
// the queue. If a store does not answer, the others have set them, and the error names that store: call it again later.
func (j *Joined) SetLimits(ctx context.Context, queue string, l Limits) error {
	if err := j.enter(ctx, "set limits"); err != nil {
		return err
	}
	if err := CheckLimits(queue, l); err != nil {
		return err
	}
	answers := askAll(ctx, j, 0, func(ctx context.Context, p *part) (struct{}, error) { return struct{}{}, p.SetLimits(ctx, queue, l) })
	for _, a := range answers {
		if a.err == nil {
			j.limited.changed(queue, l != Limits{})
			break
		}
	}
	return allFailed(answers)
}

// SetKeyLimits sets the limits of one key of a queue at all stores, as SetLimits does.
func (j *Joined) SetKeyLimits(ctx context.Context, queue, key string, l KeyLimits) error {
	if err := j.enter(ctx, "set limits of a key"); err != nil {
		return err
	}
	if err := CheckKeyLimits(queue, key, l); err != nil {
		return err
	}
	answers := askAll(ctx, j, 0, func(ctx context.Context, p *part) (struct{}, error) {
		return struct{}{}, p.SetKeyLimits(ctx, queue, key, l)
	})
	for _, a := range answers {
		if a.err == nil {
			j.limited.changed(queue, l != KeyLimits{})
			break
		}
	}
	return allFailed(answers)
}

// Overrides returns the limits of single keys. It asks the owner of the queue first, then the others, until one answers: all have the same ones.
func (j *Joined) Overrides(ctx context.Context, queue, after string, n int) ([]Override, error) {
	if err := j.enter(ctx, "list limits of keys"); err != nil {
		return nil, err
	}
	var failed []answer[[]Override]
	for _, p := range j.ranked(queueKeys + queue) {
		a := ask(ctx, j, p, partCall, func(ctx context.Context, p *part) ([]Override, error) { return p.Overrides(ctx, queue, after, n) })
		if a.err == nil {
			return a.got, nil
		}
		failed = append(failed, a)
	}
	return nil, allFailed(failed)
}

// Limits returns the limits of a queue, with their use added up over the stores that answer.
func (j *Joined) Limits(ctx context.Context, queue string, keys ...string) ([]LimitUse, error) {
	if err := CheckUses(keys); err != nil {
		return nil, fmt.Errorf("limits of queue %s: %w", queue, err)
	}
	if err := j.enter(ctx, "read limits"); err != nil {
		return nil, err
	}
	answers := askSome(ctx, j, j.ranked(queueKeys+queue), 0, func(ctx context.Context, p *part) ([]LimitUse, error) { return p.Limits(ctx, queue, keys...) })
	var uses []LimitUse
	for _, a := range answers {
		switch {
		case a.err != nil:
		case uses == nil:
			uses = a.got
		default:
			for i := range uses {
				uses[i].add(&a.got[i])
			}
		}
	}
	return uses, readAnswered(ctx, answers)
}

// add adds the use of the same limits at another store.
func (u *LimitUse) add(at *LimitUse) {
	u.QueueRunning += at.QueueRunning
	u.KeyRunning += at.KeyRunning
	u.QueueNext, u.KeyNext = max(u.QueueNext, at.QueueNext), max(u.KeyNext, at.KeyNext)
	u.QueueUnits, u.KeyUnits = max(u.QueueUnits, at.QueueUnits), max(u.KeyUnits, at.KeyUnits)
	u.QueueHeld, u.KeyHeld = max(u.QueueHeld, at.QueueHeld), max(u.KeyHeld, at.KeyHeld)
	if u.KeyFirst == (ID{}) {
		u.KeyFirst = at.KeyFirst
	}
	if u.KeyDiscarded == (ID{}) {
		u.KeyDiscarded = at.KeyDiscarded
	}
}

// Tick enqueues the job of a cron at the store that owns the cron.
func (j *Joined) Tick(ctx context.Context, t Tick) (bool, error) {
	if err := j.enter(ctx, "tick"); err != nil {
		return false, err
	}
	a := ask(ctx, j, j.ranked(cronKeys + t.Cron)[0], 0, func(ctx context.Context, p *part) (bool, error) { return p.Tick(ctx, t) })
	return a.got, a.err
}

// PauseCron pauses a cron at the store that owns it.
func (j *Joined) PauseCron(ctx context.Context, name string, paused bool) error {
	if err := j.enter(ctx, "pause or resume a cron"); err != nil {
		return err
	}
	return ask(ctx, j, j.ranked(cronKeys + name)[0], 0, func(ctx context.Context, p *part) (struct{}, error) {
		return struct{}{}, p.PauseCron(ctx, name, paused)
	}).err
}

// Crons returns the crons of the stores that answer. If several stores have one, because a store was added, the one of its owner counts.
func (j *Joined) Crons(ctx context.Context) ([]CronInfo, error) {
	type owned struct {
		CronInfo
		at *part
	}
	all, err := readAll(ctx, j, "list crons", func(ctx context.Context, p *part) ([]owned, error) {
		crons, err := p.Crons(ctx)
		of := make([]owned, len(crons))
		for i, c := range crons {
			of[i] = owned{c, p}
		}
		return of, err
	})
	merged := mergeNamed(all, func(c owned) string { return c.Name }, func(a, b owned) owned {
		owner := j.ranked(cronKeys + a.Name)[0]
		if a.at != owner && (b.at == owner || b.Noted.After(a.Noted)) {
			return b
		}
		return a
	})
	crons := make([]CronInfo, len(merged))
	for i, c := range merged {
		crons[i] = c.CronInfo
	}
	return crons, err
}
