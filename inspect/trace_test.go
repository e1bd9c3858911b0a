package inspect

import (
	"runtime"
	"slices"
	"testing"
)

// Two stacks with the same hash are distinguished.
func TestTracesWithOneHash(t *testing.T) {
	places.Lock()
	defer places.Unlock()
	here := make([]uintptr, 8)
	here = here[:runtime.Callers(1, here)]
	elsewhere := here[1:]
	known := make(traces)
	first := known.of(here)
	if known.of(slices.Clone(here)) != first {
		t.Error("one stack was described twice")
	}
	for hash := range known {
		known[hash].pcs = elsewhere // as if its hash were the same
	}
	if got := known.of(here); got == first || len(got.calls) != len(here) {
		t.Errorf("the trace of another stack was returned: %v", got.calls)
	}
}
