package server

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A count window counts every event within its length, and none that is older than its length and one part.
func TestCountWindowLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(int64(time.Second), int64(24*time.Hour)).Draw(t, "length"))
		w := newCountWindow(length)
		part := length / windowParts
		var times []time.Duration
		now := time.Duration(rapid.Int64Range(0, int64(2*length)).Draw(t, "beginning"))
		for range rapid.IntRange(1, 50).Draw(t, "records") {
			now += time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(2*part)), rapid.Int64Range(int64(length-2*part), int64(length+2*part)), rapid.Int64Range(0, int64(3*length))).Draw(t, "later"))
			times = append(times, now)
			w.add(1, now)
			least, most := int64(0), int64(0)
			for _, at := range times {
				if at > now-windowParts*part {
					least++
				}
				if at > now-(windowParts+1)*part {
					most++
				}
			}
			if w.total < least || w.total > most {
				t.Fatalf("after %v of %v there are %d, want %d to %d", now, length, w.total, least, most)
			}
		}
	})
}
