package meanwhile

import (
	"testing"
	"testing/synctest"
	"time"
)

// A window in which most items have failed, and the others have not ended, says nothing about latency.
func TestAdapterWithoutTimes(t *testing.T) {
	for name, succeed := range map[string]int{"none has succeeded": 0, "one has succeeded": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAdapter(16, 16)
				window := func() (starts []start) {
					for range 16 {
						starts = append(starts, a.startItem())
					}
					return starts
				}
				for _, s := range window() {
					a.end(s, 10*time.Millisecond, true, false)
				}
				usual := a.usual
				items := window()
				time.Sleep(time.Second)
				for i, s := range items[:12] {
					a.end(s, time.Second, i < succeed, false)
				}
				if a.begun != 0 {
					t.Errorf("%d items have begun in this window, want a new window", a.begun)
				}
				if a.usual != usual {
					t.Errorf("the median is now %v, want %v as before", a.usual, usual)
				}
			})
		})
	}
}
