package filter

import (
	"log/slog"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

func TestTokens(t *testing.T) {
	tokens := func(v *logs.View) map[uint64]bool {
		all := make(map[uint64]bool)
		for _, token := range AppendTokens(nil, v) {
			all[token] = true
		}
		return all
	}
	r := logs.Record{Message: "Timed out: host_7 [größe]", Task: "a/b", Attrs: []slog.Attr{slog.Int("status", 503), slog.String("path", "/Search")}}
	v := r.View()
	got := tokens(&v)
	for _, word := range []string{"timed", "OUT", "host_7", "größe", "search"} {
		for _, token := range appendWords(nil, []byte(word)) {
			if !got[token] {
				t.Errorf("no token of %q", word)
			}
		}
	}
	for _, pair := range [][2]string{{"task", "A"}, {"task", "a/b"}, {"status", "503"}, {"path", "/search"}} {
		if !got[AttrToken([]byte(pair[0]), []byte(pair[1]))] {
			t.Errorf("no token of %q", pair)
		}
	}
	if len(got) != 5+4 {
		t.Errorf("%d tokens, want 9", len(got))
	}
}
