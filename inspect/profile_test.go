package inspect

import (
	"context"
	"runtime/pprof"
	"testing"
)

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
		t.Errorf("no sample has the labels of the task: %v", samples)
	})
}

// Reading a profile ends, whatever the profile consists of.
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
