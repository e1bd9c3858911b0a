package measure_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/measure"
)

// sleeps returns a function that sleeps for d.
func sleeps(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return meanwhile.Sleep(ctx, d) }
}

// In a bubble, times are exact, and so is the report.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second},
			measure.Func("slow", sleeps(30*time.Millisecond)), measure.Func("quick", sleeps(10*time.Millisecond)))
		if err != nil || len(report.Results) != 2 || len(report.Notes) != 0 {
			t.Fatalf("got %+v, %v", report, err)
		}
		quick, slow := report.Results[0], report.Results[1]
		if quick.Name != "quick" || slow.Name != "slow" {
			t.Errorf("%s is before %s", quick.Name, slow.Name)
		}
		if report.Rounds != 50 || quick.Calls != 50 || quick.Batch != 1 {
			t.Errorf("%d rounds with %d calls in batches of %d, want 50 for two functions in a second each", report.Rounds, quick.Calls, quick.Batch)
		}
		if quick.Mean != 10*time.Millisecond || quick.Median != quick.Mean || quick.P99 != quick.Mean || quick.Deviation > time.Nanosecond || int(quick.PerSecond) != 100 {
			t.Errorf("got %+v", quick)
		}
		if c := slow.Compared; fmt.Sprintf("%.3f %.3f %.3f %v", c.Times, c.Low, c.High, c.Noise) != "3.000 3.000 3.000 false" {
			t.Errorf("got %+v", c)
		}
	})
}

// The time of a call includes that of the tasks which it starts, whether a round has one call or several.
func TestCompareTasks(t *testing.T) {
	for _, total := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			report, err := measure.Compare(t.Context(), measure.Config{Time: total},
				measure.Func("one task", func(ctx context.Context) error {
					meanwhile.Go(ctx, sleeps(5*time.Millisecond))
					return meanwhile.Sleep(ctx, time.Millisecond)
				}),
				measure.Func("two tasks", func(ctx context.Context) error {
					meanwhile.Go(ctx, sleeps(5*time.Millisecond))
					meanwhile.Go(ctx, sleeps(10*time.Millisecond))
					return meanwhile.Sleep(ctx, time.Millisecond)
				}))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond} {
				if r := report.Results[i]; r.Median != want || r.Mean != want || r.Batch != max(1, int(total/2000/want)) {
					t.Errorf("%s: median %v, mean %v in batches of %d, want %v", r.Name, r.Median, r.Mean, r.Batch, want)
				}
			}
			if times := report.Results[1].Compared.Times; times < 1.999 || times > 2.001 {
				t.Errorf("got a ratio of %v, want 2", times)
			}
		})
	}
}

// Two functions that are alternately the slower one differ only by noise.
func TestNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alternates := func(first, second time.Duration) func(context.Context) error {
			calls := 0
			return func(ctx context.Context) error {
				calls++
				return meanwhile.Sleep(ctx, []time.Duration{first, second}[calls%2])
			}
		}
		report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second},
			measure.Func("a", alternates(9*time.Millisecond, 11*time.Millisecond)), measure.Func("b", alternates(11*time.Millisecond, 9*time.Millisecond)))
		if err != nil {
			t.Fatal(err)
		}
		if r := report.Results[1].Compared; !r.Noise || r.Low > 1 || r.High < 1 {
			t.Errorf("got %v", r)
		}
	})
}

func TestTooFewRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second},
			measure.Func("a", sleeps(time.Second)), measure.Func("b", sleeps(2*time.Second)))
		if err != nil || report.Rounds != 1 || !report.Results[1].Compared.Noise {
			t.Fatalf("got %+v, %v", report, err)
		}
		text := report.String()
		for _, want := range []string{
			"  b: 2.00 × as long, too few rounds to tell whether that is noise\n",
			"Note: only 1 rounds fit into the time, at least 5 are needed to tell a difference from noise: give Config.Time at least 8s.\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("got\n%s, want in it\n%s", text, want)
			}
		}
	})
}

func TestCompareRefuses(t *testing.T) {
	f := sleeps(1)
	for want, c := range map[string]struct {
		config    measure.Config
		functions []measure.Function
	}{
		`measure: there is no function to measure: give Compare one or more of Func`: {},
		`measure: function 2 has no name: a report could not tell it from others`:    {functions: []measure.Function{measure.Func("a", f), measure.Func("", f)}},
		`measure: two functions are called "a": a report could not tell them apart`:  {functions: []measure.Function{measure.Func("a", f), measure.Func("a", f)}},
		`measure: function 1 ("a") is nil: make it with Func`:                        {functions: []measure.Function{measure.Func("a", nil)}},
		`measure: Config.Time is -1s: give a positive duration, or none for 5s`:      {config: measure.Config{Time: -time.Second}, functions: []measure.Function{measure.Func("a", f)}},
	} {
		if _, err := measure.Compare(t.Context(), c.config, c.functions...); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A function that fails ends the comparison, and the error names it.
func TestCompareFails(t *testing.T) {
	after := func(calls int, end func() error) func(context.Context) error {
		return func(ctx context.Context) error {
			if calls--; calls < 0 {
				return end()
			}
			return meanwhile.Sleep(ctx, time.Second)
		}
	}
	for what, c := range map[string]struct {
		end  func() error
		want string
	}{
		"error": {func() error { return io.ErrUnexpectedEOF }, "measure: fetch: unexpected EOF"},
		"panic": {func() error { panic("no such key") }, "measure: fetch: panic: no such key"},
	} {
		for _, calls := range []int{0, 7} { // in the warm-up, and later
			t.Run(fmt.Sprintf("%s after %d calls", what, calls), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, err := measure.Compare(t.Context(), measure.Config{Time: time.Minute},
						measure.Func("fetch", after(calls, c.end)), measure.Func("other", sleeps(time.Second)))
					if err == nil || !strings.HasPrefix(err.Error(), c.want) {
						t.Errorf("got %v, want %s", err, c.want)
					}
				})
			})
		}
	}
}

// A clock that moves in steps, like that of Windows, shows no time for most calls.
func TestCoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		report, err := measure.Compare(t.Context(), measure.Config{Time: 5 * time.Second}, measure.Func("a", func(context.Context) error {
			if calls++; calls%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
			return nil
		}))
		if err != nil || report.Results[0].Batch > 40_000 || report.Results[0].Mean < 500 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

// There is no ratio of times of zero.
func TestNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		_, err := measure.Compare(t.Context(), measure.Config{Time: time.Minute}, measure.Func("wait", sleeps(time.Second)),
			measure.Func("work", func(context.Context) error {
				if calls++; calls < 5 {
					time.Sleep(time.Second)
				}
				return nil
			}))
		if err == nil || !strings.HasPrefix(err.Error(), "measure: work: 1 calls took no time by the clock: give a longer Config.Time") {
			t.Errorf("got %v", err)
		}
	})
}

// The longest possible Time does not overflow with several functions: they measure until ctx is canceled.
func TestCompareForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		wait := func(ctx context.Context) error {
			if calls++; calls == 100 {
				cancel()
			}
			return meanwhile.Sleep(ctx, 1000*time.Hour)
		}
		report, err := measure.Compare(ctx, measure.Config{Time: 1 << 62}, measure.Func("a", wait), measure.Func("b", wait))
		if !errors.Is(err, context.Canceled) || report.Rounds < 2 {
			t.Errorf("got %d rounds, %v", report.Rounds, err)
		}
	})
}

// The rounds that were complete when ctx was canceled are reported, and nothing of the one that was not.
func TestCompareCanceled(t *testing.T) {
	stop := errors.New("stop")
	for after, rounds := range map[time.Duration]int{0: 0, 17500 * time.Millisecond: 3, 43500 * time.Millisecond: 16} { // after one of the two calls of rounds 4 and 17
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(stop) })
			report, err := measure.Compare(ctx, measure.Config{Time: time.Hour}, measure.Func("a", sleeps(time.Second)), measure.Func("b", sleeps(time.Second)))
			if !errors.Is(err, stop) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if got := report.Rounds; got != rounds { // the warm-up takes 10 s
				t.Errorf("%d rounds after %v, want %d", got, after, rounds)
			}
			if rounds == 0 && report.String() != "Note: no round was complete, so there is nothing to report.\n" {
				t.Errorf("got %s", report)
			}
			if early := "only 3 rounds were complete when the comparison ended early, at least 5 are needed to tell a difference from noise"; rounds == 3 &&
				!slices.Equal(report.Notes, []string{early}) {
				t.Errorf("got the notes %q, want %q", report.Notes, early)
			}
			if rounds > 0 && len(report.Results) != 2 {
				t.Fatalf("got %+v", report)
			}
			for _, r := range report.Results {
				if r.Calls != r.Batch*report.Rounds {
					t.Errorf("%s: %d calls in batches of %d, want those of %d rounds", r.Name, r.Calls, r.Batch, report.Rounds)
				}
			}
		})
	}
}

func TestReportJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second}, measure.Func("a", sleeps(10*time.Millisecond)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report)
		for _, want := range []string{`"rounds":100`, `"name":"a"`, `"median_ns":10000000`, `"compared":{"times":1`, `"notes":[]`} {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("got %s, %v; want in it %s", text, err, want)
			}
		}
		var read measure.Report
		if err := json.Unmarshal(text, &read); err != nil || read.String() != report.String() {
			t.Errorf("got\n%s, %v, want\n%s", read, err, report)
		}
		if svg := read.SVG(); svg != nil { // the times of single calls are not in it
			t.Errorf("got %s", svg)
		}
	})
}

func TestSVG(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, other := range []time.Duration{20 * time.Millisecond, 900 * time.Millisecond} { // a linear axis and a logarithmic one
			report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second},
				measure.Func("<a> & b", sleeps(10*time.Millisecond)), measure.Func("c", sleeps(other)))
			if err != nil {
				t.Fatal(err)
			}
			d := xml.NewDecoder(strings.NewReader(string(report.SVG())))
			rects, texts := 0, ""
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v in\n%s", err, report.SVG())
				}
				switch token := token.(type) {
				case xml.StartElement:
					if token.Name.Local == "rect" {
						rects++
					}
				case xml.CharData:
					texts += string(token)
				}
			}
			if rects != 3 || !strings.Contains(texts, "<a> & b: 10.0 ms") || !strings.Contains(texts, "c: "+other.String()[:2]) {
				t.Errorf("%d rectangles, want the ground and a bar for each function; texts\n%s", rects, texts)
			}
		}
		if svg := (measure.Report{}).SVG(); svg != nil {
			t.Errorf("of an empty report: %s", svg)
		}
	})
}

// A name may be any string: a browser does not show a picture with invalid XML.
func TestSVGOfAnyName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"a\x00b", "\x1b[31mred", "\xff", "\ufffe", "a\nb", "]]>"} {
			report, err := measure.Compare(t.Context(), measure.Config{Time: time.Second}, measure.Func(name, sleeps(10*time.Millisecond)))
			if err != nil {
				t.Fatal(err)
			}
			var picture struct {
				Text []string `xml:"text"`
			}
			if err := xml.Unmarshal(report.SVG(), &picture); err != nil || !strings.HasSuffix(picture.Text[0], ": 10.0 ms") {
				t.Errorf("%q: got %q, %v", name, picture.Text, err)
			}
		}
	})
}

// Characters that could change a terminal, or break a line, are escaped in texts, and so in the log and the metrics of a benchmark.
func TestTextsOfAnyName(t *testing.T) {
	isPlain := func(text string) bool {
		return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) || r == utf8.RuneError })
	}
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a\x00b", "\x1b[31mred", "\xff", "a\nb\rc", "\u202egnp.exe", "größe ✓"}
		var functions []measure.Function
		for _, name := range names {
			functions = append(functions, measure.Func(name, sleeps(10*time.Millisecond)))
		}
		b := &fakeB{ctx: t.Context(), metrics: map[string]float64{}}
		measure.Bench(b, measure.Config{Time: time.Second}, functions...)
		if lines := strings.Count(b.log, "\n"); !isPlain(b.log) || !strings.Contains(b.log, "größe ✓") || !strings.Contains(b.log, `\x1b[31mred`) || lines != 15 {
			t.Errorf("%d lines, want 15, with unprintable characters escaped:\n%q", lines, b.log)
		}
		for unit := range b.metrics {
			if !isPlain(unit) {
				t.Errorf("the metric %q is not escaped", unit)
			}
		}
		for _, name := range names {
			_, err := measure.Compare(t.Context(), measure.Config{}, measure.Func(name, func(context.Context) error { return io.EOF }))
			if err == nil || !isPlain(err.Error()) {
				t.Errorf("the error is %q, want one that is escaped", err)
			}
		}
	})
}

// A fakeB records the calls of a benchmark.
type fakeB struct {
	ctx     context.Context
	log     string
	metrics map[string]float64
	fatal   string
	loops   int
}

func (b *fakeB) Helper()                             {}
func (b *fakeB) Loop() bool                          { b.loops++; return b.loops < 4 }
func (b *fakeB) Context() context.Context            { return b.ctx }
func (b *fakeB) Fatal(args ...any)                   { b.fatal = fmt.Sprint(args...); runtime.Goexit() }
func (b *fakeB) Log(args ...any)                     { b.log += fmt.Sprint(args...) }
func (b *fakeB) ReportMetric(n float64, unit string) { b.metrics[unit] = n }

var _ measure.B = (*testing.B)(nil)

func TestBench(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &fakeB{ctx: t.Context(), metrics: map[string]float64{}}
		measure.Bench(b, measure.Config{Time: time.Second}, measure.Func("in order", sleeps(30*time.Millisecond)), measure.Func("at once", sleeps(10*time.Millisecond)))
		for unit, want := range map[string]float64{"in-order:ns/call": 3e7, "at-once:ns/call": 1e7, "in-order:times": 3, "ns/op": 0} {
			if got, ok := b.metrics[unit]; !ok || got < want*0.999 || got > want*1.001 {
				t.Errorf("%s is %v, want %v", unit, got, want)
			}
		}
		if _, ok := b.metrics["at-once:times"]; ok || !strings.Contains(b.log, "in order: 3.00 × slower") {
			t.Errorf("got %v and %s", b.metrics, b.log)
		}
		if n := strings.Count(b.log, "Beside"); n != 1 || b.loops != 4 {
			t.Errorf("%d reports in %d loops, want 1 in 4:\n%s", n, b.loops, b.log)
		}
		b.loops = 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			measure.Bench(b, measure.Config{}, measure.Func("a", func(context.Context) error { return io.EOF }))
		}()
		<-done
		if b.fatal != "measure: a: EOF" {
			t.Errorf("the benchmark failed with %q", b.fatal)
		}
	})
}
