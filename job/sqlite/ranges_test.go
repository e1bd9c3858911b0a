package sqlite

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRanges: each number is in one range or in the rest, no other number is, and no range is too short.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seqs := rapid.SliceOfDistinct(rapid.Int64Range(1, 100), rapid.ID).Draw(t, "seqs")
		want := slices.Sorted(slices.Values(seqs))
		var got []int64
		err := ranges(seqs, func(from, to int64) error {
			if to-from+1 < leastRange {
				t.Fatalf("a range from %d to %d", from, to)
			}
			for n := from; n <= to; n++ {
				got = append(got, n)
			}
			return nil
		}, func(rest []int64) error {
			got = append(got, rest...)
			return nil
		})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}
