package meanwhile

import (
	"context"
	"runtime/pprof"
	"testing"
	"testing/synctest"
)

// Both ways to look see the same stacks, as far as the shallow one goes.
func TestDeepLookSeesWhatTheOtherSees(t *testing.T) {
	synctest.Test(t, testDeepLook)
}

func testDeepLook(t *testing.T) {
	err := Run(t.Context(), func(ctx context.Context) error {
		for range 5 {
			Go(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }, Background())
		}
		synctest.Wait() // until the last has parked
		places.Lock()
		defer places.Unlock()
		shallow, deep := takeLook(), takeDeepLook()
		if deep.cut || len(shallow.stacks) < 6 {
			t.Errorf("%d stacks, cut %v", len(shallow.stacks), deep.cut)
		}
		for id, s := range shallow.stacks {
			d := deep.stacks[id]
			if d == nil {
				t.Errorf("task %d is not in the deep look", id)
				continue
			}
			if s.outer || len(s.calls) == 0 || s.calls[0].Func != "runtime.gopark" {
				continue // this goroutine, which goes on
			}
			if len(d.calls) != len(s.calls) {
				t.Errorf("task %d: %d calls, want %d", id, len(d.calls), len(s.calls))
				continue
			}
			for i := range s.calls {
				if d.calls[i].Frame != s.calls[i].Frame {
					t.Errorf("task %d, call %d: %+v, want %+v", id, i, d.calls[i].Frame, s.calls[i].Frame)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestProfileHasLabels(t *testing.T) {
	pprof.Do(t.Context(), pprof.Labels("a", "1", "b", "2"), func(context.Context) {
		places.Lock()
		defer places.Unlock()
		samples, err := goroutineProfile()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if s.labels["a"] == "1" && s.labels["b"] == "2" && s.count == 1 {
				return
			}
		}
		t.Errorf("no sample has the labels: %v", samples)
	})
}

// Whatever a profile consists of, reading it ends.
func FuzzReadProfile(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x12, 0x04, 0x0a, 0x01, 0x01, 0x10, 0x22, 0x06, 0x08, 0x01, 0x18, 0x80, 0x80, 0x01, 0x32, 0x00})
	f.Add([]byte{0x2a, 0x06, 0x08, 0x01, 0x10, 0x7f, 0x20, 0x01, 0x32, 0x01, 'f'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		places.Lock()
		defer places.Unlock()
		samples, err := readProfile(raw)
		if err != nil {
			return
		}
		for _, s := range samples {
			for _, p := range s.calls {
				if p == nil {
					t.Fatal("a call without a place")
				}
			}
		}
	})
}
