package postgres_test

import (
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	url := database(t, server())
	s, pool := open(t, url), connect(t, url)
	execSQL(t, pool, "insert into meanwhile.queues (queue, paused, overrides) values ('q', false, 9999)")
	execSQL(t, pool, `insert into meanwhile.overrides select 'q', 'k' || n, '{"running":1}' from generate_series(1, 9999) n`)
	set := func(queue, key string, l job.KeyLimits) error { return s.SetKeyLimits(t.Context(), queue, key, l) }
	for _, step := range []struct {
		queue, key string
		limits     job.KeyLimits
		want       error
	}{
		{"q", "last", job.KeyLimits{Running: 1}, nil},
		{"q", "more", job.KeyLimits{Running: 1}, job.ErrOverrides},
		{"other", "more", job.KeyLimits{Running: 1}, nil},
		{"q", "last", job.KeyLimits{Running: 2}, nil},
		{"q", "last", job.KeyLimits{}, nil},
		{"q", "last", job.KeyLimits{}, nil},
		{"q", "more", job.KeyLimits{Running: 1}, nil},
		{"q", "last", job.KeyLimits{Running: 1}, job.ErrOverrides},
	} {
		if err := set(step.queue, step.key, step.limits); !errors.Is(err, step.want) {
			t.Errorf("set %+v of key %s of queue %s: %v, want %v", step.limits, step.key, step.queue, err, step.want)
		}
	}
	if uses, err := s.Limits(t.Context(), "q", "more"); err != nil || uses[0].Overrides != job.MaxOverrides || uses[0].Own.Running != 1 {
		t.Errorf("the use is %+v, %v", uses, err)
	}
}
