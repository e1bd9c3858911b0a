package segment

import (
	"context"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// Small segments of a day become a dense one, also when the process dies at any step of that.
func TestCondense(t *testing.T) {
	for step := 0; ; step++ {
		dir, crashed := t.TempDir(), false
		check := func(ctx context.Context, s *Store) {
			t.Helper()
			records, err := meanwhile.Collect(s.Read(ctx, "api", 1))
			if err != nil || len(records) != 30 {
				t.Fatalf("step %d: %d records, %v", step, len(records), err)
			}
			for i, r := range records {
				if r.Number != uint64(i+1) || r.Message != logtest.Message(r.Number) {
					t.Fatalf("step %d: record %d is %q", step, r.Number, r.Message)
				}
			}
		}
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			s, bad := sabotagedWith(t, dir, Config{Sync: OS, Logger: quietly})
			for first := uint64(1); first < 30; first += 10 {
				if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, first, 10)); err != nil {
					return err
				}
				s.rotateNow(t)
			}
			if err := s.convertAll(ctx); err != nil {
				return err
			}
			svc, some := s.toCondense(time.Now().Add(25 * time.Hour))
			if len(some) != 3 {
				t.Fatalf("%d segments are to be condensed, want 3", len(some))
			}
			if svc, _ := s.toCondense(some[0].made); svc != nil {
				t.Error("the day is not over, and there is little of it")
			}
			bad.set(func(n int, _, _ string) error {
				if n < step {
					return nil
				}
				crashed = true
				return errCrash
			})
			_ = s.condense(ctx, svc, some)
			check(ctx, s)
			if !crashed && (len(svc.segments) != 1 || svc.segments[0].codec != dense) {
				t.Errorf("%d segments", len(svc.segments))
			}
			s.letGo()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := sabotaged(t, dir)
		check(t.Context(), s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if !crashed {
			if step < 5 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// Damaged segments are not merged into one that looks whole.
func TestCondenseDamaged(t *testing.T) {
	dir, _ := filled(t)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, _ := sabotaged(t, dir)
		svc, some := s.toCondense(time.Now().Add(25 * time.Hour))
		if len(some) != 1 {
			t.Fatalf("%d segments", len(some))
		}
		if err := scratch(some[0].path, 100); err != nil {
			return err
		}
		if err := s.condense(ctx, svc, some); err == nil {
			t.Error("no error")
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}
