package filter

import (
	"unicode"
	"unicode/utf8"
)

// A folded text is one to compare others with, whatever the case of their letters.
type folded struct {
	text []byte // its ASCII letters small, all others as foldRune makes them
	wide bool   // it has other than ASCII characters
}

func fold(text string) folded {
	f := folded{text: make([]byte, 0, len(text))}
	for _, r := range text {
		f.text = utf8.AppendRune(f.text, foldRune(r))
		f.wide = f.wide || r >= utf8.RuneSelf
	}
	return f
}

// foldRune returns the same character for all that differ in their case alone. That of an ASCII letter is an ASCII letter, and of
// no other character.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(lower[r])
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if other >= utf8.RuneSelf {
			least = min(least, other)
		}
	}
	return least
}

// cut cuts the folded text off the beginning of another, in whatever case that has it.
func (f *folded) cut(text []byte) (rest []byte, ok bool) {
	if !f.wide {
		if len(text) < len(f.text) || !sameLetters(text, f.text) {
			return nil, false
		}
		return text[len(f.text):], true
	}
	for want := f.text; len(want) > 0; {
		w, n := utf8.DecodeRune(want)
		r, size := utf8.DecodeRune(text)
		if size == 0 || foldRune(r) != w {
			return nil, false
		}
		want, text = want[n:], text[size:]
	}
	return text, true
}

// sameLetters reports whether a text begins with one of small ASCII letters.
func sameLetters(text, small []byte) bool {
	text = text[:len(small)]
	for i, c := range small {
		if lower[text[i]] != c {
			return false
		}
	}
	return true
}
