package filter

import (
	"log/slog"
	"math"
	"testing"
	"time"

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

// A search does not skip a block because of how a value of its record is written: as a text, a number, a duration or a boolean.
func TestTokensOfValues(t *testing.T) {
	for text, values := range map[string][]any{
		"17": {17, uint64(17), 17.0, "17"}, "nan": {math.NaN(), "NaN"}, "true": {true, "TRUE"}, "false": {false, "false"}, "2h0m0s": {2 * time.Hour, "2h0m0s"}, "5ns": {5 * time.Nanosecond, "5ns"},
		"+inf": {math.Inf(1), "+Inf"}, "0.5": {0.5, "0.5"}, "sun": {"Sun"}, "get": {"GET"}, "3f2a": {"3F2A"}, "a b": {"A b"}, "-5": {-5, "-5"},
	} {
		f := match(t, `key="`+text+`"`)
		for _, value := range values {
			r := logs.Record{Attrs: []slog.Attr{slog.Any("key", value)}}
			v := r.View()
			if left := leftOut(f, &v); !f.Match(&v) || left != "" {
				t.Errorf("key=%s and %T %v: match %v, left out by its %s", text, value, value, f.Match(&v), left)
			}
		}
	}
}
