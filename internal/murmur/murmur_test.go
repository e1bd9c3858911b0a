package murmur_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/murmur"
)

// The values are those of fmix64 in its author's MurmurHash3.cpp: indexes on disk and the identities of records depend on them.
func TestMix(t *testing.T) {
	for h, want := range map[uint64]uint64{0: 0, 1: 0xb456bcfc34c2cb2c, 2: 0x3abf2a20650683e7} {
		if got := murmur.Mix(h); got != want {
			t.Errorf("Mix(%d) = %#x, want %#x", h, got, want)
		}
	}
}
