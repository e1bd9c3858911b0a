package filter

import (
	"encoding/binary"
	"math/bits"
)

// FreshWords returns the part of text between the beginning and the end that it shares with before. Outside of this part it has only
// words that before has as well. An index that has the words of one message needs only these words of the next, which usually differs
// only in a number or a name.
func FreshWords(text, before []byte) []byte {
	most := min(len(text), len(before))
	begin := sharedPrefix(text[:most], before[:most])
	if begin == len(text) && begin == len(before) {
		return nil
	}
	// A word is shared only if its end is shared as well: the last one may continue differently.
	for begin > 0 && word[text[begin-1]] != 0 {
		begin--
	}
	most -= begin
	end := len(text) - sharedSuffix(text[len(text)-most:], before[len(before)-most:])
	for end < len(text) && word[text[end]] != 0 {
		end++
	}
	return text[begin:end]
}

// sharedPrefix returns how many bytes at the beginning of two texts of the same length are the same.
func sharedPrefix(a, b []byte) (n int) {
	for ; len(a)-n >= 8; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// sharedSuffix returns how many bytes at the end of two texts of the same length are the same.
func sharedSuffix(a, b []byte) (n int) {
	for ; len(a)-n >= 8; n += 8 {
		i := len(a) - n - 8
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return n + bits.LeadingZeros64(x)/8
		}
	}
	for n < len(a) && a[len(a)-1-n] == b[len(a)-1-n] {
		n++
	}
	return n
}
