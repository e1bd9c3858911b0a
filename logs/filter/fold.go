package filter

import (
	"unicode"
	"unicode/utf8"
)

// A folded is a text in the form in which texts are compared regardless of case.
type folded struct {
	text []byte // ASCII letters in lower case, all other characters as foldRune returns them
	wide bool   // it has characters other than ASCII
}

func fold(text string) folded {
	f := folded{text: make([]byte, 0, len(text))}
	for _, r := range text {
		f.text = utf8.AppendRune(f.text, foldRune(r))
		f.wide = f.wide || r >= utf8.RuneSelf
	}
	return f
}

// foldRune returns the same character for all characters that differ only in case. It returns an ASCII letter for ASCII letters, and for
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

// cut cuts the folded text off the beginning of another text, regardless of case.
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

// sameLetters reports whether a text begins with another one, whose ASCII letters are in lower case, regardless of case.
func sameLetters(text, small []byte) bool {
	text = text[:len(small)]
	for i, c := range small {
		if lower[text[i]] != c {
			return false
		}
	}
	return true
}
