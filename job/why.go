package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/durationtext"
)

// Why returns one sentence that explains why a queued job does not run: it is not due yet, its queue is paused, no worker claims it, a limit of its
// queue or of its key is reached, one of these was throttled, or the workers are busy. For a job that is running or has finished, it returns the
// state.
func Why(ctx context.Context, s Store, id ID) (string, error) {
	j, err := Find(ctx, s, id)
	if err != nil {
		return "", err
	}
	if j.State != Queued {
		return string(j.State), nil
	}
	uses, err := s.Limits(ctx, j.Queue, j.LimitKey)
	if err != nil {
		return "", fmt.Errorf("why job %v does not run: %w", id, err)
	}
	use := uses[0]
	if wait := j.RunAt.Sub(use.Now); wait > 0 {
		return fmt.Sprintf("due in %s", durationtext.Short(wait)), nil
	}
	queues, err := s.Queues(ctx)
	if err != nil {
		return "", fmt.Errorf("why job %v does not run: %w", id, err)
	}
	info := QueueInfo{Name: j.Queue}
	if i := slices.IndexFunc(queues, func(q QueueInfo) bool { return q.Name == j.Queue }); i >= 0 {
		info = queues[i]
	}
	if info.Paused {
		return fmt.Sprintf("queue %s is paused", j.Queue), nil
	}
	workers, err := s.Workers(ctx)
	if err != nil {
		return "", fmt.Errorf("why job %v does not run: %w", id, err)
	}
	able, reason := ableWorkers(workers, j, use.Now)
	if reason != "" {
		return reason, nil
	}
	if reason := use.reason(j); reason != "" {
		return reason, nil
	}
	return busy(able, info), nil
}

// ableWorkers returns the workers that claim such jobs, or why there are none.
func ableWorkers(workers []WorkerInfo, j *Job, now time.Time) ([]WorkerInfo, string) {
	var able []WorkerInfo
	ofQueue, handles := false, false
	for _, w := range workers {
		if w.Gone(now) || !slices.Contains(w.Queues, j.Queue) {
			continue
		}
		ofQueue = true
		if !w.Handles(j.Kind) {
			continue
		}
		if handles = true; !w.Quiet && !w.Stopping {
			able = append(able, w)
		}
	}
	switch {
	case !ofQueue:
		return nil, fmt.Sprintf("no worker claims jobs of queue %s", j.Queue)
	case !handles:
		return nil, fmt.Sprintf("no worker of queue %s handles the kind %s", j.Queue, j.Kind)
	case len(able) == 0:
		return nil, fmt.Sprintf("the workers of queue %s are quiet or stopping", j.Queue)
	}
	return able, ""
}

// reason returns which limit keeps a due job from starting, or "".
func (u *LimitUse) reason(j *Job) string {
	keyed, of, own := j.LimitKey != "", u.OfKey(u.Own), ""
	if u.Own != (KeyLimits{}) {
		own = " (its own limit)"
	}
	switch {
	case u.KeyDiscarded != ID{}:
		return fmt.Sprintf("held by job %v of its key, which was discarded: retry or delete it", u.KeyDiscarded)
	case u.QueueHeld > 0 && u.QueueHeld >= u.KeyHeld:
		return fmt.Sprintf("starts again in %s: queue %s was throttled", durationtext.Short(u.QueueHeld), j.Queue)
	case u.KeyHeld > 0:
		return fmt.Sprintf("starts again in %s: key %s was throttled", durationtext.Short(u.KeyHeld), j.LimitKey)
	case u.Running > 0 && u.QueueRunning >= u.Running:
		return running(u.QueueRunning, u.Running, "queue "+j.Queue)
	case keyed && of.InOrder && u.KeyRunning > 0:
		return running(u.KeyRunning, 1, "key "+j.LimitKey)
	case keyed && of.Running > 0 && u.KeyRunning >= of.Running:
		return running(u.KeyRunning, of.Running, "key "+j.LimitKey) + own
	case u.KeyFirst != ID{} && u.KeyFirst != j.ID:
		return fmt.Sprintf("the jobs of key %s run in order: job %v comes first", j.LimitKey, u.KeyFirst)
	case u.QueueNext > 0 && u.QueueNext >= max(u.KeyNext, u.QueueUnits, u.KeyUnits):
		return fmt.Sprintf("starts again in %s: %v of queue %s", durationtext.Short(u.QueueNext), u.Starts, j.Queue)
	case u.QueueUnits > 0 && u.QueueUnits >= u.KeyUnits && u.QueueUnits >= u.KeyNext:
		return fmt.Sprintf("starts again in %s: %v of queue %s", durationtext.Short(u.QueueUnits), u.Units.text("units "), j.Queue)
	case keyed && u.KeyUnits > 0 && u.KeyUnits >= u.KeyNext:
		return fmt.Sprintf("starts again in %s: %v of key %s", durationtext.Short(u.KeyUnits), of.Units.text("units "), j.LimitKey+own)
	case keyed && u.KeyNext > 0:
		return fmt.Sprintf("starts again in %s: %v of key %s", durationtext.Short(u.KeyNext), of.Starts, j.LimitKey+own)
	}
	return ""
}

// running describes how many jobs of a queue or a key run, which is as many as may.
func running(n, limit int, of string) string {
	if n == 1 && limit == 1 {
		return "1 of 1 job of " + of + " runs"
	}
	return fmt.Sprintf("%d of %d jobs of %s run", n, limit, of)
}

// busy describes a queue in which the job has to wait its turn.
func busy(able []WorkerInfo, info QueueInfo) string {
	slots, used, unknown := 0, 0, false
	for _, w := range able {
		unknown = unknown || w.Concurrency == 0
		slots += w.Concurrency
		used += min(w.Running, w.Concurrency)
	}
	if used >= slots && unknown {
		return fmt.Sprintf("the workers of queue %s have not reported how many jobs they run at once: %s, %s queued", info.Name,
			number(info.Running, "job of the queue runs", "jobs of the queue run"), number(info.Queued, "is", "are"))
	}
	if used >= slots {
		return fmt.Sprintf("the workers of queue %s are at capacity: %d of %d jobs run, %s queued", info.Name, used, slots, number(info.Queued, "is", "are"))
	}
	return fmt.Sprintf("it is about to be claimed: %s queued, and the workers of queue %s have %s free",
		number(info.Queued, "job is", "jobs are"), info.Name, number(int64(slots-used), "slot", "slots"))
}

// number returns n with the singular or the plural of what is counted.
func number(n int64, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
