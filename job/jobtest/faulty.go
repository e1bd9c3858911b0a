package jobtest

import (
	"context"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A Call describes a call of a store method to the rule of [Faulty].
type Call struct {
	Method string // such as "Claim"
	N      int    // which call of this method it is, from 1
}

// A Fault describes how a call fails. The zero value does not fail it.
type Fault struct {
	Before error // returned without the call being made
	After  error // returned after the call was made: its writes are stored, and only its answer is lost
}

// Faulty wraps a store so that rule decides which of its calls fail. rule is called before each call, by many goroutines at once;
// the call waits for rule, which can therefore also delay it. Close is not affected.
func Faulty(store job.Store, rule func(Call) Fault) job.Store {
	return &faulty{store: store, rule: rule, calls: map[string]int{}}
}

type faulty struct {
	store job.Store
	rule  func(Call) Fault

	mu    sync.Mutex
	calls map[string]int // by method
}

// try makes a call unless the rule fails it before.
func try[T any](f *faulty, method string, call func() (T, error)) (T, error) {
	f.mu.Lock()
	f.calls[method]++
	n := f.calls[method]
	f.mu.Unlock()
	var none T
	fault := f.rule(Call{Method: method, N: n})
	if fault.Before != nil {
		return none, fault.Before
	}
	answer, err := call()
	if err == nil && fault.After != nil {
		return none, fault.After
	}
	return answer, err
}

// do is try for a call that returns only an error.
func (f *faulty) do(method string, call func() error) error {
	_, err := try(f, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f *faulty) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	return try(f, "Insert", func() ([]job.ID, error) { return f.store.Insert(ctx, jobs...) })
}

func (f *faulty) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	return try(f, "Settle", func() ([]job.ID, error) { return f.store.Settle(ctx, session, outcomes...) })
}

func (f *faulty) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	return try(f, "Claim", func() (job.Claimed, error) { return f.store.Claim(ctx, c) })
}

func (f *faulty) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	return try(f, "Renew", func() (job.Renewed, error) { return f.store.Renew(ctx, r) })
}

func (f *faulty) Leave(ctx context.Context, worker string, session job.Session) error {
	return f.do("Leave", func() error { return f.store.Leave(ctx, worker, session) })
}

func (f *faulty) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	return try(f, "Watch", func() (job.Tree, error) { return f.store.Watch(ctx, id, d) })
}

func (f *faulty) SendCommand(ctx context.Context, worker string, o job.Command) error {
	return f.do("Order", func() error { return f.store.SendCommand(ctx, worker, o) })
}

func (f *faulty) Stats(ctx context.Context, filter job.StatsFilter) ([]job.Stat, error) {
	return try(f, "Stats", func() ([]job.Stat, error) { return f.store.Stats(ctx, filter) })
}

func (f *faulty) Wait(ctx context.Context, queues ...string) ([]string, error) {
	return try(f, "Wait", func() ([]string, error) { return f.store.Wait(ctx, queues...) })
}

func (f *faulty) Apply(ctx context.Context, filter job.Filter, action job.Action) (job.ActionResult, error) {
	return try(f, "Apply", func() (job.ActionResult, error) { return f.store.Apply(ctx, filter, action) })
}

func (f *faulty) List(ctx context.Context, filter job.Filter) ([]*job.Job, error) {
	return try(f, "List", func() ([]*job.Job, error) { return f.store.List(ctx, filter) })
}

func (f *faulty) Counts(ctx context.Context) ([]job.Count, error) {
	return try(f, "Counts", func() ([]job.Count, error) { return f.store.Counts(ctx) })
}

func (f *faulty) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	return try(f, "Queues", func() ([]job.QueueInfo, error) { return f.store.Queues(ctx) })
}

func (f *faulty) Pause(ctx context.Context, queue string, paused bool) error {
	return f.do("Pause", func() error { return f.store.Pause(ctx, queue, paused) })
}

func (f *faulty) SetKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	return f.do("SetKeyLimits", func() error { return f.store.SetKeyLimits(ctx, queue, key, l) })
}

func (f *faulty) Overrides(ctx context.Context, queue, after string, n int) ([]job.Override, error) {
	return try(f, "Overrides", func() ([]job.Override, error) { return f.store.Overrides(ctx, queue, after, n) })
}

func (f *faulty) SetLimits(ctx context.Context, queue string, l job.Limits) error {
	return f.do("SetLimits", func() error { return f.store.SetLimits(ctx, queue, l) })
}

func (f *faulty) Limits(ctx context.Context, queue string, keys ...string) ([]job.LimitUse, error) {
	return try(f, "Limits", func() ([]job.LimitUse, error) { return f.store.Limits(ctx, queue, keys...) })
}

func (f *faulty) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	return try(f, "Workers", func() ([]job.WorkerInfo, error) { return f.store.Workers(ctx, names...) })
}

func (f *faulty) Tick(ctx context.Context, t job.Tick) (bool, error) {
	return try(f, "Tick", func() (bool, error) { return f.store.Tick(ctx, t) })
}

func (f *faulty) Crons(ctx context.Context) ([]job.CronInfo, error) {
	return try(f, "Crons", func() ([]job.CronInfo, error) { return f.store.Crons(ctx) })
}

func (f *faulty) PauseCron(ctx context.Context, name string, paused bool) error {
	return f.do("PauseCron", func() error { return f.store.PauseCron(ctx, name, paused) })
}

func (f *faulty) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	return f.do("Audit", func() error { return f.store.Audit(ctx, entries...) })
}

func (f *faulty) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	return try(f, "Audited", func() ([]job.AuditEntry, error) { return f.store.Audited(ctx, before, limit) })
}

func (f *faulty) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	return try(f, "Prune", func() (job.Pruned, error) { return f.store.Prune(ctx, retention, limit) })
}

func (f *faulty) Ping(ctx context.Context) error {
	return f.do("Ping", func() error { return f.store.Ping(ctx) })
}

func (f *faulty) Close() error { return f.store.Close() }
