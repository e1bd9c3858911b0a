package job_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"pgregory.net/rapid"
)

// durations draws durations of all sizes that a histogram has buckets for, and some beyond.
var durations = rapid.Custom(func(t *rapid.T) time.Duration {
	if rapid.IntRange(0, 9).Draw(t, "edge") == 0 {
		edges := []time.Duration{-1, 0, 1, 100*time.Microsecond - 1, 100 * time.Microsecond, 150 * time.Microsecond, 200 * time.Microsecond, 30 * time.Hour, math.MaxInt64, math.MinInt64}
		return rapid.SampledFrom(edges).Draw(t, "duration")
	}
	return time.Duration(math.Exp(rapid.Float64Range(0, math.Log(float64(40*time.Hour))).Draw(t, "log")))
})

func histogramOf(all []time.Duration) job.Histogram {
	var h job.Histogram
	for _, d := range all {
		h.Add(d)
	}
	return h
}

func TestHistogramQuantileLaw(t *testing.T) {
	const highest = 107374182400 * time.Microsecond // 29.8 hours
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(durations, 1, 200).Draw(t, "all")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := histogramOf(all)
		slices.Sort(all)
		rank := max(int(math.Ceil(q*float64(len(all)))), 1)
		want := max(all[rank-1], 0)
		got := h.Quantile(q)
		if bound := max(min(want, highest)/2, 100*time.Microsecond); (got - min(want, highest)).Abs() > bound {
			t.Errorf("quantile %v is %v, want %v ± %v", q, got, want, bound)
		}
		if h.Count() != int64(len(all)) {
			t.Errorf("count %d of %d", h.Count(), len(all))
		}
	})
}

func TestHistogramQuantilesGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histogramOf(rapid.SliceOf(durations).Draw(t, "all"))
		a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		if low, high := h.Quantile(min(a, b)), h.Quantile(max(a, b)); low > high {
			t.Errorf("quantile %v is %v, quantile %v is %v", min(a, b), low, max(a, b), high)
		}
	})
}

func TestHistogramMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [3][]time.Duration
		var h [3]job.Histogram
		for i := range parts {
			parts[i] = rapid.SliceOf(durations).Draw(t, "part")
			h[i] = histogramOf(parts[i])
		}
		left := h[0]
		left.Merge(h[1])
		left.Merge(h[2])
		right := h[2]
		right.Merge(h[1])
		right.Merge(h[0])
		if left != right || left != histogramOf(slices.Concat(parts[:]...)) {
			t.Errorf("merged from the left %v, from the right %v", left, right)
		}
	})
}

func TestHistogramBucketsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(durations).Draw(t, "all")
		h := histogramOf(all)
		last := time.Duration(0)
		for end, upTo := range h.Buckets {
			below := 0
			for _, d := range all {
				if d < end {
					below++
				}
			}
			if end <= last || int(upTo) != below {
				t.Fatalf("up to %v, after %v: got %d, want %d", end, last, upTo, below)
			}
			last = end
		}
	})
}

func TestHistogramJSONLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histogramOf(rapid.SliceOf(durations).Draw(t, "all"))
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back job.Histogram
		if err := json.Unmarshal(text, &back); err != nil || back != h {
			t.Errorf("%s was read as %v, %v", text, back, err)
		}
	})
}

func TestHistogramOfNothing(t *testing.T) {
	var h job.Histogram
	if text, err := json.Marshal(h); err != nil || string(text) != "[]" {
		t.Errorf("as JSON %s, %v; want []", text, err)
	}
	if h.Count() != 0 || h.Quantile(0.99) != 0 {
		t.Errorf("count %d, quantile %v; want 0", h.Count(), h.Quantile(0.99))
	}
}

func FuzzHistogramJSON(f *testing.F) {
	for _, text := range []string{`[]`, `[17,3,0,5]`, `[0]`, `[61,1]`, `[62]`, `[62,1]`, `[-1,1]`, `[0,-1]`, `[0,9223372036854775807,1]`, `{}`, `null`, `[9223372036854775807,1]`, `[0.5]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var h job.Histogram
		var list []int64
		err := json.Unmarshal([]byte(text), &h)
		if wrong := json.Unmarshal([]byte(text), &list); err == nil && wrong != nil {
			t.Errorf("%s was read as %v, but is not a list of numbers: %v", text, h, wrong)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
			return
		}
		if h.Count() < 0 {
			t.Errorf("%s counts %d", text, h.Count())
		}
		again, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back job.Histogram
		if err := json.Unmarshal(again, &back); err != nil || back != h {
			t.Errorf("%s was written as %s, and that was read as %v, %v", text, again, back, err)
		}
		var written []int64
		if err := json.Unmarshal(again, &written); err != nil || !maps.Equal(bucketsOf(list), bucketsOf(written)) {
			t.Errorf("%s was written as %s, %v", text, again, err)
		}
	})
}

// bucketsOf returns the counts of a list that MarshalJSON writes, by the numbers of their buckets.
func bucketsOf(list []int64) map[int64]int64 {
	counts := make(map[int64]int64)
	for i, n := range list {
		if i > 0 && n > 0 {
			counts[list[0]+int64(i)-1] = n
		}
	}
	return counts
}
