package filter

import (
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
	"pgregory.net/rapid"
)

func TestFreshWords(t *testing.T) {
	for _, test := range []struct{ before, text, want string }{
		{"", "all of it", "all of it"},
		{"the same", "the same", ""},
		{"user 17 signed in", "user 18 signed in", "18"},
		{"user 17 signed in", "user 17 signed out", "out"},
		{"alpha beta", "alphabet beta", "alphabet"},
		{"alphabet beta", "alpha beta", "alpha"},
		{"a b", "a b c", "b c"},
		{"b c", "a b c", "a b"},
		{"x x", "x x x", "x x"},
		{"took 1.25s, status=200", "took 3.25s, status=200", "3"},
		{"a-bc", "a-c", "c"},
		{"ab-c", "a-c", "a"},
		{"größe 1", "größer 1", "größer"},
	} {
		if got := string(FreshWords([]byte(test.text), []byte(test.before))); got != test.want {
			t.Errorf("%q after %q: got %q, want %q", test.text, test.before, got, test.want)
		}
	}
}

// TestFreshWordsLaw checks what an index needs: each word of a text is in the text before, or in the fresh part.
func TestFreshWordsLaw(t *testing.T) {
	tokens := func(text []byte) []uint64 { return AppendTokens(nil, &logs.View{Message: text}) }
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "A", "7", "_", "é", " ", "-", "=", "  ", "status", "request served by "})
	texts := rapid.SliceOfN(piece, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		join := func(pieces []string) (b []byte) {
			for _, p := range pieces {
				b = append(b, p...)
			}
			return b
		}
		same, tail := texts.Draw(t, "same"), texts.Draw(t, "tail")
		before := join(slices.Concat(same, texts.Draw(t, "before"), tail))
		text := join(slices.Concat(same, texts.Draw(t, "text"), tail))
		fresh := FreshWords(text, before)
		had := append(tokens(before), tokens(fresh)...)
		for _, token := range tokens(text) {
			if !slices.Contains(had, token) {
				t.Fatalf("a word of %q is neither in %q nor in the fresh part %q", text, before, fresh)
			}
		}
		for _, token := range tokens(fresh) {
			if !slices.Contains(tokens(text), token) {
				t.Fatalf("the fresh part %q of %q has a word that is not in it", fresh, text)
			}
		}
	})
}
