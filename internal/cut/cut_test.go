package cut_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/cut"
)

func TestPrefix(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "longe"},
		{"wörd", 2, "w"},
		{"wörd", 3, "wö"},
		{"a\U0001F600b", 4, "a"},
		{"a\U0001F600b", 5, "a\U0001F600"},
		{"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80"}, // no UTF-8
		{"ö", 0, ""},
	} {
		if got := cut.Prefix([]byte(test.text), test.most); string(got) != test.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
