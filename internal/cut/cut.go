// Package cut shortens texts between characters.
package cut

import "unicode/utf8"

// Prefix returns the beginning of a text, of at most so many bytes, without half a character at its end. It lies in text.
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
