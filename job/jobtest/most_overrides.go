package jobtest

import (
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMostOverrides tests that a queue has limits of its own for at most [job.MaxOverrides] keys. All but one of them, of keys other than "last" and
// "more", are set for the queue q: a store may have a faster way to write them than SetKeyLimits.
func TestMostOverrides(t *testing.T, s job.Store) {
	t.Helper()
	one, none := job.KeyLimits{Running: 1}, job.KeyLimits{}
	for _, step := range []struct {
		queue, key string
		limits     job.KeyLimits
		want       error
	}{
		{"q", "last", one, nil},
		{"q", "more", one, job.ErrOverrides},
		{"other", "more", one, nil},
		{"q", "last", job.KeyLimits{Running: 2}, nil},
		{"q", "last", none, nil},
		{"q", "last", none, nil},
		{"q", "more", one, nil},
		{"q", "last", one, job.ErrOverrides},
	} {
		if err := s.SetKeyLimits(t.Context(), step.queue, step.key, step.limits); !errors.Is(err, step.want) {
			t.Errorf("set %+v for key %s of queue %s: %v, want %v", step.limits, step.key, step.queue, err, step.want)
		}
	}
	if uses, err := s.Limits(t.Context(), "q", "more"); err != nil || uses[0].Overrides != job.MaxOverrides || uses[0].Own.Running != 1 {
		t.Errorf("the use is %+v, %v", uses, err)
	}
}
