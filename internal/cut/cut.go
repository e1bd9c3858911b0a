// Package cut shortens texts at character boundaries.
package cut

import "unicode/utf8"

// Prefix returns the start of a text, at most most bytes, without an incomplete character at its end. The result shares the memory of text.
func Prefix(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	keep := most
	for keep > 0 && keep > most-utf8.UTFMax && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return text[:keep:keep]
}
