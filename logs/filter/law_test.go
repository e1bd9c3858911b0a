package filter

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"pgregory.net/rapid"
)

// A naive is a filter as text, with the simplest function that decides what matches it.
type naive struct {
	text  string
	match func(r *logs.Record) bool
}

func naiveWords(text string) []string {
	return strings.FieldsFunc(strings.Map(func(c rune) rune {
		if c < 0x80 && word[byte(c)] == 0 {
			return ' '
		}
		return unicode.ToLower(c)
	}, text), func(c rune) bool { return c == ' ' })
}

func naiveFilters(depth int) *rapid.Generator[naive] {
	someWord := rapid.SampledFrom([]string{"timed", "Out", "time", "größe", "GRÖßE", "x7", "e"})
	key := rapid.SampledFrom([]string{"status", "path"})
	someValue := rapid.SampledFrom([]string{"503", "5", "503.5", "-5", "timed", "Out", "1m30s", "true", "Ä", "x", "nan", "NaN", "+Inf", "2h", "hum", "5ns", "503x"})
	terms := []*rapid.Generator[naive]{
		rapid.Custom(func(t *rapid.T) naive {
			words := rapid.SliceOfN(someWord, 1, 3).Draw(t, "words")
			text := strings.Join(words, rapid.SampledFrom([]string{" ", ": ", "-"}).Draw(t, "between"))
			return naive{`"` + text + `"`, func(r *logs.Record) bool {
				have, want := naiveWords(r.Message), naiveWords(text)
				for i := range have {
					if len(have)-i >= len(want) && slices.Equal(have[i:i+len(want)], want) {
						return true
					}
				}
				return false
			}}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			w := someWord.Draw(t, "word")
			return naive{w + "*", func(r *logs.Record) bool {
				return slices.ContainsFunc(naiveWords(r.Message), func(have string) bool { return strings.HasPrefix(have, naiveWords(w)[0]) })
			}}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			k, want := key.Draw(t, "key"), someValue.Draw(t, "value")
			op := rapid.SampledFrom([]string{"=", "!="}).Draw(t, "op")
			return naive{k + op + want, func(r *logs.Record) bool {
				return (op == "=") == slices.ContainsFunc(r.Attrs, func(a slog.Attr) bool {
					return a.Key == k && strings.EqualFold(a.Value.String(), want)
				})
			}}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			level := rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}).Draw(t, "level")
			return naive{"level>=" + level.String(), func(r *logs.Record) bool { return r.Level >= level }}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			second := rapid.Int64Range(0, 5).Draw(t, "second")
			return naive{fmt.Sprintf("time<1970-01-01T00:00:0%d", second), func(r *logs.Record) bool { return r.Time.Unix() < second }}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			service := rapid.SampledFrom([]string{"api", "web"}).Draw(t, "service")
			return naive{"service=" + service, func(r *logs.Record) bool { return r.Service == service }}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			path := rapid.SampledFrom([]string{"main", "main/a", "main/a/b"}).Draw(t, "path")
			return naive{"task=" + path, func(r *logs.Record) bool { return strings.HasPrefix(r.Task+"/", path+"/") }}
		}),
	}
	if depth == 0 {
		return rapid.OneOf(terms...)
	}
	below := naiveFilters(depth - 1)
	return rapid.OneOf(append(terms,
		rapid.Custom(func(t *rapid.T) naive {
			n := below.Draw(t, "negated")
			return naive{rapid.SampledFrom([]string{"-", "not ", "NOT"}).Draw(t, "not") + "(" + n.text + ")", func(r *logs.Record) bool { return !n.match(r) }}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			a, b := below.Draw(t, "left"), below.Draw(t, "right")
			return naive{"(" + a.text + ")" + rapid.SampledFrom([]string{" ", " and "}).Draw(t, "and") + "(" + b.text + ")", func(r *logs.Record) bool { return a.match(r) && b.match(r) }}
		}),
		rapid.Custom(func(t *rapid.T) naive {
			a, b := below.Draw(t, "left"), below.Draw(t, "right")
			return naive{"(" + a.text + " or " + b.text + ")", func(r *logs.Record) bool { return a.match(r) || b.match(r) }}
		}))...)
}

func fewRecords() *rapid.Generator[logs.Record] {
	word := rapid.SampledFrom([]string{"timed", "TIMED", "out", "time", "größe", "Größe", "x7", "E", ":", "--"})
	return rapid.Custom(func(t *rapid.T) logs.Record {
		r := logs.Record{
			Time: time.Unix(rapid.Int64Range(0, 5).Draw(t, "time"), 0).UTC(), Level: slog.Level(rapid.IntRange(-9, 9).Draw(t, "level")),
			Service: rapid.SampledFrom([]string{"api", "web"}).Draw(t, "service"),
			Message: strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "message"), rapid.SampledFrom([]string{" ", "/", "_", ""}).Draw(t, "between")),
			Task:    rapid.SampledFrom([]string{"", "main", "main/a", "main/ab", "main/a/b"}).Draw(t, "task"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "attrs") {
			r.Attrs = append(r.Attrs, slog.Any(rapid.SampledFrom([]string{"status", "path"}).Draw(t, "key"),
				rapid.SampledFrom([]any{503, 5, 5.0, 503.5, -5.0, "timed", "OUT", "503", 90 * time.Second, "x", "ä", true, false, "true", math.NaN(), "nan", math.Inf(1), "1m30s", "hum", "503x", 5 * time.Nanosecond, "5ns"}).Draw(t, "value")))
		}
		return r
	})
}

// TestFilterLaw compares filters with their naive versions: both match the same records, and a store skips no record that matches.
func TestFilterLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := naiveFilters(3).Draw(t, "filter")
		f, err := Parse(n.text)
		if err != nil {
			t.Fatalf("%s: %v", n.text, err)
		}
		for range 10 {
			r := fewRecords().Draw(t, "record")
			v := r.View()
			want := n.match(&r)
			if got := f.Match(&v); got != want {
				t.Fatalf("%s: got %v, want %v of %s", n.text, got, want, fmt.Sprintf("%+v", r))
			}
			if left := leftOut(f, &v); want && left != "" {
				t.Fatalf("%s: is left out by its %s: %s", n.text, left, fmt.Sprintf("%+v", r))
			}
		}
	})
}

// leftOut returns the criterion by which a store would skip a record, or "" if it would not.
func leftOut(f Filter, v *logs.View) string {
	have := make(map[uint64]bool)
	for _, token := range AppendTokens(nil, v) {
		have[token] = true
	}
	for _, token := range f.Tokens() {
		if !have[token] {
			return "tokens"
		}
	}
	least, most := f.Levels()
	earliest, latest := f.Times()
	switch {
	case !f.Service(string(v.Service)):
		return "service"
	case v.Level < least || v.Level > most:
		return "level"
	case v.Time < earliest || v.Time > latest:
		return "time"
	}
	return ""
}

// FuzzParseFilter: any text is a filter or an error, and no matching record is skipped.
func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{
		`level>=warn service=api,web -job.kind=search.index "timed out"`, `(a or b*) not c`, `path~^/a/(b|c) x!=1 y=*`, `time>=2026-05-04 number<7 "k"="v"`, "a -", "a=(", "größe", `-(a or "b\"\\")`,
		"took>=1m30s n=1e6 at<2026-05-04T15:04:05+02:00",
	} {
		f.Add(text, "Timed out: a b", "v", int64(3))
	}
	f.Fuzz(func(t *testing.T, text, message, attr string, n int64) {
		filter, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(filter.String())
		if err != nil {
			t.Fatalf("%q becomes %q, which is not a filter: %v", text, filter, err)
		}
		r := logs.Record{
			Time: time.Unix(0, n), Level: slog.Level(int32(n)), Service: "api", Message: message, Task: attr, Job: attr, Number: uint64(n),
			Attrs: []slog.Attr{slog.String("k", attr), slog.Int64("n", n), slog.Float64("x", float64(n)/7), slog.Duration("took", time.Duration(n)), slog.Time("at", time.Unix(0, n))},
		}
		v := r.View()
		if got := filter.Match(&v); got != again.Match(&v) || got && leftOut(filter, &v) != "" {
			t.Fatalf("%q of %s: %v, left out by %q", text, fmt.Sprintf("%+v", r), got, leftOut(filter, &v))
		}
		inverse, err := Parse("-(" + text + ")")
		if err == nil && inverse.Match(&v) == filter.Match(&v) && strings.Trim(text, " \t\r\n") != "" {
			t.Fatalf("%q and its negation both return %v", text, filter.Match(&v))
		}
	})
}

func TestFilterAllocatesNothing(t *testing.T) {
	if testenv.UnderRace {
		t.Skip("the race detector drops items of pools at random, and regular expressions use one")
	}
	v := benchmarkView()
	for _, text := range []string{"timed", `"connection refused"`, "level>=warn service=api", "status>=500", "path=/api/search", "took>1s", "ip>5", "time>2026-05-04", "-foo*", "message~refused"} {
		f := match(t, text)
		if allocs := testing.AllocsPerRun(100, func() { f.Match(&v) }); allocs != 0 {
			t.Errorf("%s: %v allocations", text, allocs)
		}
	}
}

func benchmarkView() logs.View {
	r := logs.Record{
		Time: time.Unix(1.8e9, 0), Level: slog.LevelInfo, Service: "api",
		Message: "connection to upstream search-7.internal refused: dial tcp 10.0.0.7:9200, next attempt in 250ms, 3 left",
		Attrs: []slog.Attr{
			slog.String("path", "/api/search"), slog.Int("status", 200), slog.Duration("took", 35*time.Millisecond),
			slog.String("ip", "10.1.2.3"), slog.Float64("load", math.Pi),
		},
	}
	return r.View()
}

func BenchmarkFilterMatch(b *testing.B) {
	v := benchmarkView()
	for _, text := range []string{"deadline", "seen", "refused", `"dial tcp"`, "status=503", "status>=500", "load=2", "service=web timed", "level>=warn timed", "(deadline or refuse) timed"} {
		b.Run(text, func(b *testing.B) {
			f := match(b, text)
			b.ReportAllocs()
			for b.Loop() {
				f.Match(&v)
			}
		})
	}
}
