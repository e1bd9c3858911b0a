package measure

import (
	"context"
	"strings"
)

// A B has the methods of [testing.B] that [Bench] uses.
type B interface {
	Helper()
	Context() context.Context
	Loop() bool
	Fatal(args ...any)
	Log(args ...any)
	ReportMetric(n float64, unit string)
}

// Bench runs [Compare] in a benchmark, and should be the only call in it:
//
//	func BenchmarkFetch(b *testing.B) {
//		measure.Bench(b, measure.Config{}, measure.Func("in order", inOrder), measure.Func("at once", atOnce))
//	}
//
// It compares once, logs the report, and reports for each function the metrics NAME:ns/call and NAME:allocs/call, and for all but the
// fastest also NAME:times, with hyphens for spaces. It does not use b.N.
func Bench(b B, config Config, functions ...Function) {
	b.Helper()
	var report Report
	var err error
	for compared := false; b.Loop(); compared = true { // without Loop, the benchmark would be called again until it takes -benchtime
		if compared {
			continue
		}
		if report, err = Compare(b.Context(), config, functions...); err != nil {
			b.Fatal(err)
		}
	}
	b.Log("\n" + report.String())
	for i, f := range report.Results {
		name := strings.Join(strings.Fields(printable(f.Name)), "-")
		b.ReportMetric(float64(f.Mean.Nanoseconds()), name+":ns/call")
		b.ReportMetric(f.Allocs, name+":allocs/call")
		if i > 0 {
			b.ReportMetric(f.Compared.Times, name+":times")
		}
	}
	b.ReportMetric(0, "ns/op") // of the whole comparison, and of no use
}
