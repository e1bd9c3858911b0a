// Package measure compares functions of your own: which is faster, by how much, and whether the difference is real. It is
// modeled on Elixir's benchee.
//
//	report, err := measure.Compare(ctx, measure.Config{Time: 10 * time.Second},
//		measure.Func("one by one", fetchInOrder),
//		measure.Func("at once", fetchConcurrently))
//	fmt.Print(report)
//
// [Compare] runs the functions in turn, round after round, so that a slow minute of the machine affects all of them, and compares the times
// within each round. The ratio that it reports is the median of these comparisons, with an interval; if the interval includes 1, the
// difference is noise, and the report says so. The report also says when the machine was busy, and when there were too few rounds for a
// conclusion.
//
// A [Report] can be printed as text, written as JSON, or drawn by [Report.SVG]. [Bench] makes the same comparison under go test -bench.
//
// It is meant for functions that take microseconds to seconds. It imports package meanwhile and the standard library.
package measure
