package sqlite_test

import (
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMostOverrides: the number of keys of a queue that have their own limits is bounded.
func TestMostOverrides(t *testing.T) {
	s := open(t, migrated(t))
	for _, sql := range []string{
		"insert into meanwhile_queue (name, overrides) values ('q', 9999)",
		`with recursive n(n) as (select 1 union all select n + 1 from n where n < 9999)
		insert into meanwhile_override select (select id from meanwhile_queue where name = 'q'), 'k' || n, '{"running":1}' from n`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
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
