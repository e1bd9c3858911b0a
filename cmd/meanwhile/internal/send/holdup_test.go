package send

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However often there is no room, and for however long: a program is held up for a second and a tenth of the time at most.
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
				t.Fatalf("held up for %v of %v, at most %v is allowed", held, now.Sub(begin), most)
			}
		}
	})
}
