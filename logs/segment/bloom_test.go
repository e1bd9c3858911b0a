package segment

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// What was added is found, however much it is folded.
func TestBloomLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Uint64(), 0, 1000).Draw(t, "tokens")
		b := newBloom()
		b.add(tokens)
		words := b.folded()
		for _, token := range tokens {
			if !has(words, token) {
				t.Fatalf("%x is not found in %d words", token, len(words))
			}
		}
	})
}

func has(words []uint64, token uint64) bool {
	for _, p := range probes(token, len(words)) {
		if words[p.word]&p.mask != p.mask {
			return false
		}
	}
	return true
}

func TestBloomLeavesOutMost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := newBloom()
	for range 10_000 {
		b.add([]uint64{random.Uint64()})
	}
	words := b.folded()
	if len(words) != 2048 {
		t.Errorf("%d words for 10,000 tokens", len(words))
	}
	wrong := 0
	for range 100_000 {
		token := random.Uint64()
		if has(words, token) {
			wrong++
		}
	}
	if wrong > 2000 {
		t.Errorf("%d of 100,000 tokens are found that were not added", wrong)
	}
}
