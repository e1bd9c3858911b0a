package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A broken store breaks a promise on purpose: it is a correct store with some methods replaced.
type broken struct {
	job.Store
	insert    func(ctx context.Context, jobs []*job.Job) ([]job.ID, error)
	settle    func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error)
	claim     func(ctx context.Context, c job.Claim) (job.Claimed, error)
	renew     func(ctx context.Context, r job.Renewal) (job.Renewed, error)
	watch     func(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error)
	order     func(ctx context.Context, worker string, o job.Command) error
	stats     func(f job.StatsFilter, got []job.Stat) []job.Stat
	wait      func(ctx context.Context, queues []string) ([]string, error)
	apply     func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error)
	list      func(ctx context.Context, f job.Filter) ([]*job.Job, error)
	counts    func([]job.Count) []job.Count
	queues    func([]job.QueueInfo) []job.QueueInfo
	workers   func([]job.WorkerInfo) []job.WorkerInfo
	names     func([]string) []string // alters the names that Workers is called with
	crons     func([]job.CronInfo) []job.CronInfo
	tick      func(ctx context.Context, t job.Tick) (bool, error)
	prune     func(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error)
	pause     func(queue string, paused bool) (string, bool)
	cron      func(name string, paused bool) error
	leave     func() error
	ping      func() error
	close     func() error
	setLimits func(ctx context.Context, queue string, l job.Limits) error
	setKey    func(ctx context.Context, queue, key string, l job.KeyLimits) error
	overrides func(ctx context.Context, queue, after string, n int) ([]job.Override, error)
	limits    func(use job.LimitUse) job.LimitUse
	limitsAll func(uses []job.LimitUse)
	limitsOf  func(ctx context.Context, queue string, keys []string) ([]job.LimitUse, error)
	audit     func(entries []job.AuditEntry) []job.AuditEntry
	audited   func(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error)
}

func (b *broken) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	if b.audit != nil {
		entries = b.audit(slices.Clone(entries))
	}
	return b.Store.Audit(ctx, entries...)
}

func (b *broken) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	if b.audited != nil {
		return b.audited(ctx, before, limit)
	}
	return b.Store.Audited(ctx, before, limit)
}

func (b *broken) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	if b.insert != nil {
		return b.insert(ctx, jobs)
	}
	return b.Store.Insert(ctx, jobs...)
}

func (b *broken) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	if b.settle != nil {
		return b.settle(ctx, session, outcomes)
	}
	return b.Store.Settle(ctx, session, outcomes...)
}

func (b *broken) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	if b.claim != nil {
		return b.claim(ctx, c)
	}
	return b.Store.Claim(ctx, c)
}

func (b *broken) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	if b.renew != nil {
		return b.renew(ctx, r)
	}
	return b.Store.Renew(ctx, r)
}

func (b *broken) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	if b.watch != nil {
		return b.watch(ctx, id, d)
	}
	return b.Store.Watch(ctx, id, d)
}

func (b *broken) SendCommand(ctx context.Context, worker string, o job.Command) error {
	if b.order != nil {
		return b.order(ctx, worker, o)
	}
	return b.Store.SendCommand(ctx, worker, o)
}

func (b *broken) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	if b.stats == nil {
		return b.Store.Stats(ctx, f)
	}
	got, err := b.Store.Stats(ctx, job.StatsFilter{})
	return b.stats(f, got), err
}

func (b *broken) Wait(ctx context.Context, queues ...string) ([]string, error) {
	if b.wait != nil {
		return b.wait(ctx, queues)
	}
	return b.Store.Wait(ctx, queues...)
}

func (b *broken) Apply(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
	if b.apply != nil {
		return b.apply(ctx, f, action)
	}
	return b.Store.Apply(ctx, f, action)
}

func (b *broken) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	if b.list != nil {
		return b.list(ctx, f)
	}
	return b.Store.List(ctx, f)
}

func (b *broken) Counts(ctx context.Context) ([]job.Count, error) {
	got, err := b.Store.Counts(ctx)
	return altered(b.counts, got), err
}

func (b *broken) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	got, err := b.Store.Queues(ctx)
	return altered(b.queues, got), err
}

func (b *broken) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	got, err := b.Store.Workers(ctx, altered(b.names, names)...)
	return altered(b.workers, got), err
}

func (b *broken) Crons(ctx context.Context) ([]job.CronInfo, error) {
	got, err := b.Store.Crons(ctx)
	return altered(b.crons, got), err
}

func altered[T any](alter func([]T) []T, got []T) []T {
	if alter != nil {
		return alter(got)
	}
	return got
}

func (b *broken) Tick(ctx context.Context, t job.Tick) (bool, error) {
	if b.tick != nil {
		return b.tick(ctx, t)
	}
	return b.Store.Tick(ctx, t)
}

func (b *broken) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	if b.prune != nil {
		return b.prune(ctx, retention, limit)
	}
	return b.Store.Prune(ctx, retention, limit)
}

func (b *broken) Pause(ctx context.Context, queue string, paused bool) error {
	if b.pause != nil {
		queue, paused = b.pause(queue, paused)
	}
	return b.Store.Pause(ctx, queue, paused)
}

func (b *broken) PauseCron(ctx context.Context, name string, paused bool) error {
	if b.cron != nil {
		return b.cron(name, paused)
	}
	return b.Store.PauseCron(ctx, name, paused)
}

func (b *broken) SetLimits(ctx context.Context, queue string, l job.Limits) error {
	if b.setLimits != nil {
		return b.setLimits(ctx, queue, l)
	}
	return b.Store.SetLimits(ctx, queue, l)
}

func (b *broken) SetKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	if b.setKey != nil {
		return b.setKey(ctx, queue, key, l)
	}
	return b.Store.SetKeyLimits(ctx, queue, key, l)
}

func (b *broken) Overrides(ctx context.Context, queue, after string, n int) ([]job.Override, error) {
	if b.overrides != nil {
		return b.overrides(ctx, queue, after, n)
	}
	return b.Store.Overrides(ctx, queue, after, n)
}

func (b *broken) Limits(ctx context.Context, queue string, keys ...string) ([]job.LimitUse, error) {
	if b.limitsOf != nil {
		return b.limitsOf(ctx, queue, keys)
	}
	uses, err := b.Store.Limits(ctx, queue, keys...)
	for i := range uses {
		if b.limits != nil {
			uses[i] = b.limits(uses[i])
		}
	}
	if b.limitsAll != nil {
		b.limitsAll(uses)
	}
	return uses, err
}

func (b *broken) Leave(ctx context.Context, worker string, session job.Session) error {
	if b.leave != nil {
		return b.leave()
	}
	return b.Store.Leave(ctx, worker, session)
}

func (b *broken) Ping(ctx context.Context) error {
	if b.ping != nil {
		return b.ping()
	}
	return b.Store.Ping(ctx)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Store.Close()
}

// A fault breaks a store. It names the tests that must notice it.
type fault struct {
	name    string
	noticed []string
	apply   func(b *broken)
}

// insertAs calls Insert with jobs that alter has changed.
func insertAs(alter func(j *job.Job)) func(b *broken) {
	return func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			return b.Store.Insert(ctx, copies(jobs, alter)...)
		}
	}
}

// settleAs calls Settle with jobs that alter has changed.
func settleAs(alter func(j *job.Job)) func(b *broken) {
	return func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			return b.Store.Settle(ctx, session, job.Outcomes(copies(jobsOf(outcomes), alter)...)...)
		}
	}
}

// applyAs alters the filter and the action before Apply, and its result afterwards; either function may be nil.
func applyAs(ask func(f *job.Filter, action *job.Action), answer func(done *job.ActionResult)) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			if ask != nil {
				action.From = slices.Clone(action.From)
				ask(&f, &action)
			}
			done, err := b.Store.Apply(ctx, f, action)
			if answer != nil {
				answer(&done)
			}
			return done, err
		}
	}
}

// claimAs alters the claim before Claim, and its result afterwards; either function may be nil.
func claimAs(ask func(c *job.Claim), answer func(c job.Claim, got *job.Claimed)) func(b *broken) {
	return func(b *broken) {
		b.claim = func(ctx context.Context, c job.Claim) (job.Claimed, error) {
			c.Queues = slices.Clone(c.Queues)
			if ask != nil {
				ask(&c)
			}
			got, err := b.Store.Claim(ctx, c)
			if answer != nil {
				answer(c, &got)
			}
			return got, err
		}
	}
}

// listAs alters the filter of List.
func listAs(alter func(f *job.Filter)) func(b *broken) {
	return func(b *broken) {
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			alter(&f)
			return b.Store.List(ctx, f)
		}
	}
}

// tickAs alters the tick that Tick is called with.
func tickAs(alter func(t *job.Tick)) func(b *broken) {
	return func(b *broken) {
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			alter(&t)
			return b.Store.Tick(ctx, t)
		}
	}
}

// pruneAs alters the arguments of Prune.
func pruneAs(alter func(retention map[job.State]time.Duration, limit *int)) func(b *broken) {
	return func(b *broken) {
		b.prune = func(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
			all := map[job.State]time.Duration{}
			for state, keep := range retention {
				all[state] = keep
			}
			alter(all, &limit)
			return b.Store.Prune(ctx, all, limit)
		}
	}
}

func copies(jobs []*job.Job, alter func(j *job.Job)) []*job.Job {
	altered := make([]*job.Job, len(jobs))
	for i, j := range jobs {
		c := *j
		alter(&c)
		altered[i] = &c
	}
	return altered
}

func jobsOf(outcomes []job.Outcome) []*job.Job {
	jobs := make([]*job.Job, len(outcomes))
	for i, o := range outcomes {
		jobs[i] = o.Job
	}
	return jobs
}

// stored returns a job as the correct store has it, or nil.
func (b *broken) stored(ctx context.Context, id job.ID) *job.Job {
	jobs, err := b.Store.List(ctx, job.Filter{IDs: []job.ID{id}, Limit: 1})
	if err != nil || len(jobs) == 0 {
		return nil
	}
	return jobs[0]
}

// withoutFence settles jobs no matter which session holds them, if same returns true.
func withoutFence(same func(stored, j *job.Job, session job.Session) bool) func(b *broken) {
	return func(b *broken) {
		b.settle = func(ctx context.Context, session job.Session, outcomes []job.Outcome) ([]job.ID, error) {
			var lost []job.ID
			for _, j := range jobsOf(outcomes) {
				stored := b.stored(ctx, j.ID)
				if stored == nil || stored.State != job.Running || !same(stored, j, session) {
					lost = append(lost, j.ID)
					continue
				}
				settled := *j
				settled.Attempt = stored.Attempt
				some, err := b.Store.Settle(ctx, sessionOf(stored.Worker), job.Outcomes(&settled)...)
				if err != nil {
					return nil, err
				}
				lost = append(lost, some...)
			}
			return lost, nil
		}
	}
}
