package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	histogramUnit   = 50 * time.Microsecond // half of the start of the second bucket
	histogramLevels = 30                    // doublings: as far as 29.8 hours
	histogramSize   = 2*histogramLevels + 2
)

// A Histogram counts durations in fixed buckets, so that those of many workers can be merged: one below 100 µs, two for each
// doubling from there (100 to 150, 150 to 200, 200 to 300 µs, …), and one above 29.8 hours. The zero value is empty. It allocates
// nothing, and consists of its counts alone: it can be copied and compared.
type Histogram struct {
	counts [histogramSize]int64
}

// Add counts a duration; a negative one counts as zero.
func (h *Histogram) Add(d time.Duration) { h.counts[bucketOf(d)]++ }

func bucketOf(d time.Duration) int {
	units := uint64(max(d, 0) / histogramUnit)
	if units < 2 {
		return 0
	}
	level := bits.Len64(units) - 2
	if level >= histogramLevels {
		return histogramSize - 1
	}
	return 1 + 2*level + int(units>>level&1)
}

// bucketBegin returns the least duration of a bucket, which is the end of the previous one.
func bucketBegin(i int) time.Duration {
	if i == 0 {
		return 0
	}
	level, half := (i-1)/2, (i-1)%2
	return time.Duration(2+half) << level * histogramUnit
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other Histogram) {
	for i := range h.counts {
		h.counts[i] += other.counts[i]
	}
}

// Count returns how many durations were added.
func (h *Histogram) Count() int64 {
	var n int64
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Quantile returns a duration that about the share q of what was added does not exceed: 0.5 for the median. It is in the bucket
// of the true quantile, so it differs from it by at most half of that, or 100 µs; above 29.8 hours it is 29.8 hours. It is zero
// if nothing was added.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := min(max(int64(math.Ceil(q*float64(total))), 1), total)
	i := 0
	for rank > h.counts[i] {
		rank -= h.counts[i]
		i++
	}
	begin := bucketBegin(i)
	if i == histogramSize-1 {
		return begin
	}
	width := float64(bucketBegin(i+1) - begin)
	return begin + time.Duration(width*float64(rank)/float64(h.counts[i]))
}

// Buckets yields the end of each bucket but the last, with the count of all durations up to it, for code that draws or exports
// the histogram; the last bucket has no end.
func (h *Histogram) Buckets(yield func(end time.Duration, upTo int64) bool) {
	var n int64
	for i, c := range h.counts[:histogramSize-1] {
		n += c
		if !yield(bucketBegin(i+1), n) {
			return
		}
	}
}

// MarshalJSON writes the number of the first bucket with a count, and the counts from there to the last: [17,3,0,5]. An empty
// one is [].
func (h Histogram) MarshalJSON() ([]byte, error) {
	used := func(n int64) bool { return n != 0 }
	first := slices.IndexFunc(h.counts[:], used)
	if first < 0 {
		return []byte("[]"), nil
	}
	last := histogramSize - 1
	for h.counts[last] == 0 {
		last--
	}
	return json.Marshal(append([]int64{int64(first)}, h.counts[first:last+1]...))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var list []int64
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read a histogram: %w", err)
	}
	return h.fill(list)
}

// fill sets the counts to those of a list that MarshalJSON writes.
func (h *Histogram) fill(list []int64) error {
	*h = Histogram{}
	if len(list) == 0 {
		return nil
	}
	first, counts := list[0], list[1:]
	if first < 0 || first > histogramSize || int(first)+len(counts) > histogramSize {
		return fmt.Errorf("read a histogram: %d buckets from number %d on, of %d", len(counts), first, histogramSize)
	}
	var total int64
	for _, n := range counts {
		if n < 0 || n > math.MaxInt64-total {
			return errors.New("read a histogram: its counts are below zero or too large")
		}
		total += n
	}
	copy(h.counts[first:], counts)
	return nil
}
