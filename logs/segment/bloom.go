package segment

import "math/bits"

// A bloom is a Bloom filter of the tokens of a block. Each token has two bits in each of two words, so that a look-up is two reads.
// It is made large and folded to what its tokens need: 8 to 16 bits each.
type bloom struct {
	words []uint64 // a power of two
}

const (
	minBloom = 8        // words
	maxBloom = 16 << 10 // 128 KiB for a block of 1 MiB
)

func newBloom() *bloom { return &bloom{words: make([]uint64, maxBloom)} }

// A probe is a word of the filter, and the bits of a token in it.
type probe struct{ word, mask uint64 }

// probes returns the probes of a token in a filter with that many words, a power of two.
func probes(token uint64, words int) [2]probe {
	return [2]probe{{token % uint64(words), pairs[token>>56]}, {token >> 24 % uint64(words), pairs[token>>48&0xff]}}
}

// olderProbe returns the probe in segments with the older trailer: all bits are in one word.
func olderProbe(token uint64, words int) probe {
	return probe{token % uint64(words), pairs[token>>56] | pairs[token>>48&0xff]}
}

// pairs are words with two bits.
var pairs = func() (pairs [256]uint64) {
	for i := range pairs {
		pairs[i] = 1<<(i%64) | 1<<((i+7+i/64*13)%64)
	}
	return pairs
}()

func (b *bloom) add(tokens []uint64) {
	words := (*[maxBloom]uint64)(b.words)
	for _, token := range tokens {
		words[token%maxBloom] |= pairs[token>>56]
		words[token>>24%maxBloom] |= pairs[token>>48&0xff]
	}
}

// folded returns a copy that is as small as its tokens allow.
func (b *bloom) folded() []uint64 {
	set := 0
	for _, w := range b.words {
		set += bits.OnesCount64(w)
	}
	words := append([]uint64(nil), b.words...)
	for len(words) > minBloom && len(words)/2 >= set/32 {
		half := len(words) / 2
		for i, w := range words[half:] {
			words[i] |= w
		}
		words = words[:half]
	}
	return append([]uint64(nil), words...)
}

// A token's word in a filter that was folded to n words is at its word in the full one modulo n. So filters of all blocks
// of a segment are stored at the size of the largest, by words: what a look-up needs of all of them lies together.
