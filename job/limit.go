package job

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits are the concurrency limit and the rate limits of a queue, over all workers: they bound how many of its jobs run at once, how fast they
// start and how fast they use units. They are kept in the store, see Store.SetLimits, and every claim enforces them. The zero value bounds nothing.
type Limits struct {
	Running int       `json:"running,omitempty"` // jobs of the queue that run at once; zero means no bound
	Starts  Rate      `json:"starts,omitzero"`   // how fast jobs of the queue start
	Units   Rate      `json:"units,omitzero"`    // how fast they use what they cost, see [Cost]
	EachKey KeyLimits `json:"each_key,omitzero"` // for each limit key by itself, see [LimitKey], but for those with an [Override]
}

// String describes the limits, such as "200 run at once, 500 per minute start".
func (l Limits) String() string {
	queue := KeyLimits{Running: l.Running, Starts: l.Starts, Units: l.Units}
	return limitText(append(queue.parts(""), l.EachKey.parts(" of each key")...))
}

func limitText(parts []string) string {
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}

// OfKey returns the limits of a key. own are its own limits, zero if it has none. Whether jobs run in order, and wait for a discarded one, is
// decided by EachKey for all keys.
func (l Limits) OfKey(own KeyLimits) KeyLimits {
	if own == (KeyLimits{}) {
		return l.EachKey
	}
	own.InOrder, own.HoldOnDiscard = l.EachKey.InOrder, l.EachKey.HoldOnDiscard
	return own
}

// KeyLimits bound the jobs of a queue that share a limit key.
type KeyLimits struct {
	Running int  `json:"running,omitempty"`
	Starts  Rate `json:"starts,omitzero"`
	Units   Rate `json:"units,omitzero"`
	// InOrder runs the jobs of a key one at a time in the order in which they were enqueued: by Created, then by ID, whatever their
	// priorities. A job that is not due yet, since it waits for its next attempt or was enqueued for later, holds back those behind
	// it, and no other key. When it has finished, in whatever state, or was deleted, the next one may start.
	InOrder bool `json:"in_order,omitempty"`
	// HoldOnDiscard makes a job that is discarded, for whatever reason, hold back the jobs of its key that were enqueued after it, and no other key,
	// until it is retried, which runs it first, or deleted, also by retention, or HoldOnDiscard is removed. A job that was discarded before
	// HoldOnDiscard was set holds back none. It is for jobs that run InOrder.
	HoldOnDiscard bool `json:"hold_on_discard,omitempty"`
	// Weight is how many jobs of a key start each time it is the key's turn, see [LimitKey]; 0 and 1 mean one. Of two keys that both
	// have jobs waiting, a key with weight 3 starts three times as many as one with weight 1. Weight bounds nothing.
	Weight int `json:"weight,omitempty"`
}

// String describes the limits, such as "4 run at once, weight 3".
func (k KeyLimits) String() string { return limitText(k.parts("")) }

// parts returns the parts of String. of says what the limits apply to.
func (k KeyLimits) parts(of string) (parts []string) {
	if k.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d%s run at once", k.Running, of))
	}
	if k.Starts.N > 0 {
		parts = append(parts, k.Starts.String()+of+" start")
	}
	if k.Units.N > 0 {
		parts = append(parts, k.Units.text("units ")+of)
	}
	if k.InOrder {
		parts = append(parts, "those of each key run in order")
	}
	if k.HoldOnDiscard {
		parts = append(parts, "those behind a discarded one of their key wait")
	}
	if k.Weight > 0 {
		parts = append(parts, fmt.Sprintf("weight %d%s", k.Weight, of))
	}
	return parts
}

// AtOnce returns how many jobs of a key may run at once; zero means no bound.
func (k *KeyLimits) AtOnce() int {
	if k.InOrder {
		return 1
	}
	return k.Running
}

// The bounds of limits.
const (
	MaxLimit    = 1_000_000 // jobs that run at once, and N and Burst of a rate of starts
	MaxLimitKey = 255       // bytes of a limit key
	MaxWeight   = 1_000     // of a key
	MaxUses     = 1_000     // limit keys in one call of [OperatorStore].Limits
)

// CheckUses returns an error if there are too many limit keys for a call of Limits. Stores call it.
func CheckUses(keys []string) error {
	if len(keys) > MaxUses {
		return fmt.Errorf("%d limit keys are more than %d: ask about them in several calls", len(keys), MaxUses)
	}
	return nil
}

// CheckLimits returns an error if limits for a queue are invalid. Stores call it.
func CheckLimits(queue string, l Limits) error {
	if err := checkName("queue", queue); err != nil {
		return err
	}
	if err := checkBounds("", KeyLimits{Running: l.Running, Starts: l.Starts, Units: l.Units}); err != nil {
		return err
	}
	if l.EachKey.InOrder && l.EachKey.Running > 1 {
		return fmt.Errorf("running of each key: %d jobs at once, and they are to run in order, which is one at a time: leave one of the two out", l.EachKey.Running)
	}
	if l.EachKey.HoldOnDiscard && !l.EachKey.InOrder {
		return errors.New("hold on discard of each key: only jobs that run in order wait for one that was discarded: set in order as well, or leave it out")
	}
	return checkBounds(" of each key", l.EachKey)
}

// checkBounds returns an error if a number of limits is out of range. of says what the limits apply to.
func checkBounds(of string, l KeyLimits) error {
	if l.Running < 0 || l.Running > MaxLimit {
		return fmt.Errorf("running%s: %d jobs at once: give from 1 to %d, or 0 for no bound", of, l.Running, MaxLimit)
	}
	if err := l.Starts.checkStarts(); err != nil {
		return fmt.Errorf("starts%s: %w", of, err)
	}
	if err := l.Units.checkUnits(); err != nil {
		return fmt.Errorf("units%s: %w", of, err)
	}
	if l.Weight < 0 || l.Weight > MaxWeight {
		return fmt.Errorf("weight%s: %d jobs in a turn: give from 1 to %d, or 0 for 1", of, l.Weight, MaxWeight)
	}
	return nil
}

// A LimitUse reports how far the limits of a queue, and those of one of its keys, are used. For the key "", which means no key, the
// fields of the key are zero.
type LimitUse struct {
	Limits
	Own          KeyLimits     `json:"own,omitzero"`        // of the key alone, in place of EachKey, see [Override]; zero if it has none
	Overrides    int           `json:"overrides,omitempty"` // how many keys of the queue have limits of their own
	QueueRunning int           `json:"queue_running"`
	KeyRunning   int           `json:"key_running"`
	QueueNext    time.Duration `json:"queue_next"`             // how long until the rate of the queue lets the next job start
	KeyNext      time.Duration `json:"key_next"`               // the same for the key
	QueueUnits   time.Duration `json:"queue_units"`            // how long until the units of the queue let the next job start
	KeyUnits     time.Duration `json:"key_units"`              // the same for the key
	QueueHeld    time.Duration `json:"queue_held"`             // how long until jobs of the queue start again, see [Throttled]
	KeyHeld      time.Duration `json:"key_held"`               // the same for the key
	KeyFirst     ID            `json:"key_first,omitzero"`     // the next of its queued jobs, if they run in order
	KeyDiscarded ID            `json:"key_discarded,omitzero"` // the discarded job that all its queued jobs wait for, see [KeyLimits]
	Now          time.Time     `json:"now"`                    // by the store's clock
}

// LimitKey sets the key by which a job is counted if its queue has limits for each key: a customer, a host, an account of an API. Jobs of a queue
// that have keys are claimed in turns: within one priority, each key that waits starts one job, or as many as its Weight, then the next key does,
// so that a key with a million jobs does not hold up the others.
func LimitKey(key string) Option {
	return both(func(in *insertion) { in.Job.LimitKey = key })
}

func checkLimitKey(key string) error {
	return checkText("the limit key", "the limit key", key, MaxLimitKey)
}
