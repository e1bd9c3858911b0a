package job

import (
	"context"
	"fmt"
)

// MaxCost bounds what a job costs, and N and Burst of a rate of units.
const MaxCost = 1_000_000_000

// Cost sets how many units a job is expected to use: tokens of a model, bytes, cents. If its queue has [Limits].Units, that many are counted
// when an attempt starts. A job starts as long as any unit is left, whatever it costs: the rest is a debt, for which the jobs after it wait,
// so that no job waits forever because it is large. The default is 0: what such a job uses counts when it reports it, see [Spend].
func Cost(n int) Option {
	return both(func(in *insertion) { in.Job.Cost = n })
}

func checkCost(n int) error {
	if n < 0 || n > MaxCost {
		return fmt.Errorf("a cost of %d units: give from 0 to %d, or use a larger unit", n, MaxCost)
	}
	return nil
}

// Spend records that the attempt of ctx has used n units. The total that it has spent replaces the [Cost] of the job: when the attempt is settled,
// whatever its outcome, the difference is booked on the units of its queue and of its limit key, so that the jobs after it wait longer, or not as
// long. Spend with 0 means that it has cost nothing. An attempt whose lease is lost keeps the cost that was counted at its start. Without a job in
// ctx, Spend does nothing.
func Spend(ctx context.Context, n int) error {
	e := executionOf(ctx)
	if e == nil {
		return nil
	}
	if n < 0 || n > MaxCost {
		return fmt.Errorf("spend %d units: give from 0 to %d", n, MaxCost)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spent != nil {
		n += *e.spent
	}
	if n > MaxCost {
		return fmt.Errorf("spend %d units in one attempt: at most %d are counted; use a larger unit", n, MaxCost)
	}
	e.spent = &n
	return nil
}

// unbooked returns what the attempt has spent beyond the cost that was counted when it started. e.mu is held.
func (e *execution) unbooked() int {
	if e.spent == nil {
		return 0
	}
	return *e.spent - e.job.Cost
}
