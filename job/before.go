package job

import (
	"context"
	"fmt"
	"maps"
)

// BeforeInsert returns an Inserter that calls fn with each job before in, a store or a transaction of the caller's, inserts it. fn may add what all
// jobs of a program should carry, such as tags or a trace context in the Meta, or refuse the job: after an error none of the jobs of the call is
// inserted. fn receives a copy, of which it may change all but the ID and the UniqueKey, and may be called by as many goroutines at once as Insert.
// Jobs inserted elsewhere do not pass fn: workers insert the jobs of crons, follow-up jobs ([Then], End.Then) and the calls of a [Webhook], and the
// dashboard inserts its clones.
func BeforeInsert(in Inserter, fn func(ctx context.Context, j *Job) error) Inserter {
	return beforeInsert{in, fn}
}

type beforeInsert struct {
	Inserter
	fn func(ctx context.Context, j *Job) error
}

// Insert inserts copies of the jobs, as changed by fn.
func (b beforeInsert) Insert(ctx context.Context, jobs ...*Job) ([]ID, error) {
	made := make([]*Job, len(jobs))
	for i, j := range jobs {
		c := *j
		if c.Meta = maps.Clone(j.Meta); c.Meta == nil {
			c.Meta = map[string]string{}
		}
		if err := b.fn(ctx, &c); err != nil {
			return nil, fmt.Errorf("before the insert: %w", err)
		}
		c.ID, c.UniqueKey = j.ID, j.UniqueKey
		if err := checkJob(&c); err != nil {
			return nil, fmt.Errorf("what is called before the insert made it invalid: %w", err)
		}
		made[i] = &c
	}
	return b.Inserter.Insert(ctx, made...)
}
