package postgres_test

import (
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestTextsThatNoRowHolds: PostgreSQL refuses texts with a zero byte and texts that are not UTF-8. A search for such a text finds nothing, as in
// other stores.
func TestTextsThatNoRowHolds(t *testing.T) {
	s := open(t, database(t, server()))
	ctx := t.Context()
	if err := s.SetKeyLimits(ctx, "q", "key", job.KeyLimits{Running: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(ctx, newJob(t, job.Queue("q"))); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\x00", "a\x00b", "\xff", "a\xc3"} {
		for _, f := range []job.Filter{{Kinds: []string{text}}, {Queues: []string{text}}, {Worker: text}, {UniqueKey: text}, {Kinds: []string{text}, Queues: []string{"q"}}} {
			f.Limit = 10
			if found, err := s.List(ctx, f); err != nil || len(found) > 0 {
				t.Errorf("list %+v: %v, %v, want nothing", f, found, err)
			}
			if done, err := s.Apply(ctx, f, job.ActionCancel); err != nil || done.Changed > 0 {
				t.Errorf("cancel %+v: %+v, %v, want nothing changed", f, done, err)
			}
		}
		if uses, err := s.Limits(ctx, text, text); err != nil || len(uses) != 1 {
			t.Errorf("limits of key %q of queue %[1]q: %+v, %v, want one without limits", text, uses, err)
		}
		if found, err := s.Overrides(ctx, text, "", 10); err != nil || len(found) > 0 {
			t.Errorf("limits of keys of queue %q: %+v, %v, want none", text, found, err)
		}
		if found, err := s.Overrides(ctx, "q", text, 10); err != nil {
			t.Errorf("limits of keys after %q: %+v, %v", text, found, err)
		}
		if found, err := s.Workers(ctx, text); err != nil || len(found) > 0 {
			t.Errorf("worker %q: %+v, %v, want none", text, found, err)
		}
		if err := s.SendCommand(ctx, text, job.Command{Do: job.CommandQuiet}); !errors.Is(err, job.ErrNoWorker) {
			t.Errorf("command to worker %q: %v, want %v", text, err, job.ErrNoWorker)
		}
	}
}
