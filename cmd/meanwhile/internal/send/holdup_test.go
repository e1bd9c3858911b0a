package send

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHoldUpLaw: however often there is no space, and for however long, a program is blocked for at most a second plus a tenth of the time.
func TestHoldUpLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h holdUp
		begin := time.Now()
		now, held := begin, time.Duration(0)
		for range rapid.IntRange(1, 100).Draw(t, "records") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "between")))
			if wait := h.allowed(now); wait > 0 {
				waited := time.Duration(rapid.Int64Range(0, int64(wait)).Draw(t, "waited"))
				h.spend(waited)
				now, held = now.Add(waited), held+waited
			}
			if most := mostHeldUp + now.Sub(begin)/heldUpPart; held > most {
				t.Fatalf("blocked for %v of %v, want at most %v", held, now.Sub(begin), most)
			}
		}
	})
}
