package filter

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

func match(t testing.TB, text string) Filter {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func ExampleParse() {
	f, err := Parse(`level>=warn service=api,web "timed out" -job.kind=search.index`)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := logs.Record{Level: slog.LevelError, Service: "api", Message: "Timed out: db-1", Attrs: []slog.Attr{slog.Int("port", 5432)}}
	v := r.View()
	fmt.Println(f.Match(&v))

	_, err = Parse(`level>=loud`)
	fmt.Println(err)
	// Output:
	// true
	// filter, column 8: "loud" is not a level: give trace, debug, info, notice, warn, error, critical, alert or fatal, such a name with +1 to +3, or a number
}

func TestFilterMatches(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 500, time.UTC)
	r := logs.Record{
		Time: at, Level: slog.LevelWarn, Service: "Api", Message: "Timed out: host_7, größe 10.0.0.1 (x)", Number: 17,
		Task: "main/Search/index 7", Job: "01JX",
		Attrs: []slog.Attr{
			slog.Int("status", 503), slog.Duration("took", 90*time.Second), slog.String("path", "/Search/All"),
			slog.Float64("rate", 0.5), slog.Bool("ok", false), slog.Time("due", at), slog.String("n", "1e3"), slog.String("wait", "250ms"),
			slog.String("empty", ""), slog.String("dup", "a"), slog.String("dup", "b"), slog.String("level", "high"),
			slog.Uint64("big", math.MaxUint64), slog.Float64("million", 1e6), slog.String("version", "1.10"), slog.String("my key", "=*,"),
			slog.Any("list", []int{1, 2}), slog.Float64("nan", math.NaN()), slog.Float64("inf", math.Inf(1)), slog.String("ip", "10.0.0.1"), slog.String("city", "Köln"),
		},
	}
	v := r.View()
	tests := map[bool][]string{
		true: {
			"", " \t\n", "timed", "TIMED out", `"timed out"`, `"out timed" or host_7`, "timed-out", "timed-out:host_7", "ho*", "timed-o*", "größ*",
			"größe", "GRÖSSE or GRÖßE", "GRÖ*", `"größe 10"`, `"HOST_7, GRÖßE"`, "(x)", "10.0.0.1", "-host", "not host", "NOT host", "not(host)", "--timed", "not not timed", "-(host or foo)", "timed and out", "timed AND -foo",
			"foo or timed", "foo OR bar OR timed", "(foo or timed) out", "timed (foo or out)", `"or" or timed`, `x "X"`,

			"level=warn", "level=WARNING", "level>=info", "level>info", "level<=warn", "level<error", "level!=error", "level=4", "level=warn+0", "level=error,warn", "level=*",
			"level>warn-1", "-level=info", "level<ERROR", "level>=notice", "level<critical", "level<Crit", "level<alert", "level<fatal", "level>trace", "level!=notice,critical",
			"time>=2026-05-04", "time=2026-05-04", "time<=2026-05-04", "time=2026-05-04T03", "time=2026-05-04T03:02", "time=2026-05-04T03:02:01", "time=2026-05-04T05:02:01+02:00",
			"time>2026-05-03", "time<2026-05-05", "time=2026-05-04T03:02:01.0000005Z", "time!=2026-05-03",
			"number=17", "number>=17 number<18", "number=1,17", "number!=3",
			"service=api", "city=KÖLN", "city=kö*", "city!=köl", "service=web,api", "service=ap*", "service~^A", "service!=web", "service!~web", "service=*",
			"task=main", "task=main/search", "task=MAIN/", `task="main/search/index 7"`, "task=main/sea*", "task=*", "task~index", "task!=main/sea",
			"job=01jx", "job=01*", `message="timed out: HOST_7, größe 10.0.0.1 (x)"`, "message~host_[0-9]", `message~"\(x\)$"`, `message~(out|in):`, "(message~(out|in):)", "message=timed*",

			"status=503", "status>=500", "status>502.5", "status<1e3", "status<=503", "status!=500", "status=500,503", "status=5*", "status=+503", "status~^5..$", "status=*", "status!~4..",
			"took=90s", "took=1m30s", "took>1m", "took>=90", "took<2m", "took<=1.5m", "path=/search/all", "path=/sea*", "path!=/", "path~^/Search",
			"rate=0.5", "rate=1,0.50", "nan=nan", "inf=+INF", "rate=5e-1", "rate=.5", "rate<1", "ok=false", "ok=FALSE", "due=2026-05-04T05:02:01.0000005+02:00", "due>2026-05-03", "due<=2026-05-04", "due>=2026-05-04T03:02:01Z",
			"n>999", "n=1E3", "wait>200ms", "wait<1", `empty=""`, "empty=*", "dup=a", "dup=b", "dup=c,b", `"level"=high`, `"level"~high`,
			"big=18446744073709551615", "big>1e19", "million=1000000", "million=1e6", `"my key"="=*,"`, "nothing!=x", "nothing!=*", "-nothing=*", "nothing!~x", `list="[1,2]"`,
		},
		false: {
			"time", "hos", "host", `"timed host_7"`, `"out timed"`, "out-timed", "timed foo", "-timed", "not (timed)", "ou", "größ", "gröSSe", "RÖßE", "GRÖßEN", "größen*", "city=kölns", "city=kol*", "groe*", `"x y"`, "foo or bar", "(foo or bar) timed",
			"level=error", "level=critical", "level>=fatal", "level=notice", "level<warn", "level>warn", "level=debug", "level=5", "level!=*", "time=2026-05-03", "time>2026-05-04", "time<2026-05-04", "time>2026-05-04T03:02:01Z",
			"number=0", "number>17", "service=ap", "service!=api", "service~^a", "task=mai", "task=main/sea", "task=search", `task=""`, "task!=*", "job=01", `job!="01jx"`,
			`message="timed out"`, "message~^timed", "status=50", "status>503", "status<503", "status!=503", "status=504,505", "took=90", "took>90", "path=/search", "path>1",
			"rate>0.5", "rate=5", "ok=0", "due>2026-05-04", "due>1", "n>1000", "dup!=a", "level=1", "version=1.1", "nothing=*", `nothing=""`, "nothing>0", "ip>1", "empty>=0", "list>0",
		},
	}
	for want, texts := range tests {
		for _, text := range texts {
			f := match(t, text)
			if got := f.Match(&v); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
			if f.String() != text {
				t.Errorf("%s: says that it is %s", text, f)
			}
		}
	}
}

func TestFilterErrors(t *testing.T) {
	tests := []struct {
		text   string
		column int
		says   string
	}{
		{"a (b", 3, "no ) for this ("},
		{"a) b", 2, "no ( for this )"},
		{"()", 2, "a term is missing"},
		{"a or", 5, "a term is missing"},
		{"or a", 1, `quote "and", "or" and "not"`},
		{"a and", 6, "a term is missing"},
		{"not", 4, "a term is missing"},
		{"a - b", 3, "- stands right before"},
		{"grö ***", 5, "* stands at the end"},
		{"größe :-)", 7, "has no word"},
		{"a*b", 2, "* stands at the end"},
		{"a-*", 1, "leave it out"},
		{`"abc`, 1, "no second quote"},
		{`""`, 1, "has no word"},
		{"*", 1, "leave it out to find all"},
		{"=x", 1, "a key is missing before ="},
		{"status >= 500", 8, "without blanks"},
		{"status>= 500", 9, "a value is missing after >="},
		{"status=", 8, `"" for the empty value`},
		{"status==500", 8, "== is not an operator"},
		{"path=~x", 6, "=~ is not an operator"},
		{"path=a*b", 7, "use ~"},
		{"path=f(x)", 7, "quote it as a whole"},
		{`path="a"b`, 9, "quote it as a whole"},
		{`path~"a"b`, 9, "quote it as a whole"},
		{"a=b,", 5, "a value is missing"},
		{"status>high", 8, "> compares numbers"},
		{"status>500,600", 8, "compares with one value"},
		{"level=loud", 7, "debug, info, notice, warn, error"},
		{"level~warn", 1, "level is not a text"},
		{"time>=yesterday", 7, "2026-05-04T15:04"},
		{"time>=0001-01-01", 7, "is not a time"},
		{"number=x", 8, "the number of a record"},
		{"service>a", 1, "service is a text"},
		{"a~", 3, "a regular expression is missing"},
		{"a~(b", 3, "no regular expression"},
		{"a~" + strings.Repeat("x", 1001), 3, "longer than 1000 bytes"},
		{"a~(((x{1000}){1000}){1000})", 3, "no regular expression"},
		{strings.Repeat("(", 65) + "a", 65, "more than 64 parentheses"},
		{strings.Repeat("a ", 257), 513, "more than 256 terms"},
		{`"` + strings.Repeat("a ", 65) + `"`, 1, "more than 64 words"},
		{strings.Repeat("a", 9000), 1, "at most 8192"},
		{"a\xff", 1, "not UTF-8"},
	}
	for _, test := range tests {
		_, err := Parse(test.text)
		wrong, ok := errors.AsType[*Error](err)
		if !ok || wrong.Column != test.column || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%.40s: got %v, want column %d: …%s…", test.text, err, test.column, test.says)
		}
	}
}

func TestFilterService(t *testing.T) {
	for text, can := range map[string]bool{
		"": true, "service=api": true, "service=web": false, "service=web,API": true, "service!=api": false, "service!=web": true,
		"timed": true, "-timed": true, "service=web or timed": true, "service=web timed": false, "-(service=web or timed)": true, "-(service=api or timed)": false,
		"service~^a": true, "service!~^a": false, "-service=*": false, "-service=web -service=x": true,
	} {
		if got := match(t, text).Service("api"); got != can {
			t.Errorf("%s: got %v, want %v", text, got, can)
		}
	}
}

func TestFilterBounds(t *testing.T) {
	const lowest, highest = math.MinInt32, math.MaxInt32
	for text, want := range map[string][2]slog.Level{
		"": {lowest, highest}, "timed": {lowest, highest}, "-timed": {lowest, highest}, "level>=warn": {4, highest}, "level=warn": {4, 7}, "level>warn": {8, highest},
		"level<warn": {lowest, 3}, "-level<warn": {4, highest}, "-(level<warn or timed)": {4, highest}, "level=info,error": {0, 11}, "level>=info level<warn": {0, 3},
		"level=info or timed": {lowest, highest}, "level!=info": {lowest, highest}, "level=info level=error": {8, 3}, "-level=*": {highest, lowest}, `"level"=x`: {lowest, highest},
	} {
		if least, most := match(t, text).Levels(); [2]slog.Level{least, most} != want {
			t.Errorf("%s: got %d to %d, want %d to %d", text, least, most, want[0], want[1])
		}
	}
	day := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC).UnixNano()
	if earliest, latest := match(t, "time>=2026-05-04 time<2026-05-05 level=info").Times(); earliest != day || latest != day+24*3600e9-1 {
		t.Errorf("got %d to %d", earliest, latest)
	}
}

func TestFilterTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "timed": 1, "timed out": 2, `"timed out"`: 2, "timed*": 0, "timed-ou*": 1, "a or b": 0, "-a": 0, "-(-a or -b)": 2, "a (b or c)": 1,
		"status=503": 1, "status=1,2": 0, "status!=1": 0, "-status!=1": 1, "took=90s": 0, "took=1m30s": 1, "path=/a*": 0, "status>1": 0, "job=x": 1, "task=a/b": 1, "task=a/": 0,
		"message=\"a b\"": 2, "service=x": 0, "id=123456789": 1,
	} {
		if got := match(t, text).Tokens(); len(got) != want {
			t.Errorf("%s: %d tokens, want %d", text, len(got), want)
		}
	}
}
