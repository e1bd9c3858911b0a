package linefile

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A printed text is one line without control characters; plain text stays as it is.
func TestPrintableLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SliceOf(rapid.ByteRange(0x1f, 0x80)),
			rapid.Custom(func(t *rapid.T) []byte { return []byte(rapid.String().Draw(t, "text")) })).Draw(t, "bytes")
		got := appendPrintable(nil, text)
		if !utf8.Valid(got) || bytes.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q is printed as %q", text, got)
		}
		if utf8.Valid(text) && !bytes.ContainsFunc(text, unicode.IsControl) && !bytes.Equal(got, text) {
			t.Fatalf("%q is printed as %q", text, got)
		}
	})
}

func TestPlainPrefix(t *testing.T) {
	for length := range 80 {
		for _, c := range []byte{0, 0x1f, ' ', 'x', 0x7e, 0x7f, 0x80, 0xff} {
			for at := range length {
				text := []byte(strings.Repeat("~", length))
				text[at] = c
				want := at
				if c >= ' ' && c < 0x7f {
					want = length
				}
				if got := plainPrefix(text); got != want {
					t.Fatalf("%q: got %d, want %d", text, got, want)
				}
			}
		}
	}
}
