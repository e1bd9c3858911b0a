package measure

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// widestName is the maximum number of characters of a name that a table shows.
const widestName = 22

// String returns the report as text, at most 80 columns wide if names are short: a table, how each function compares with the fastest, and
// what makes that uncertain. Characters of names that cannot be printed are escaped.
func (r Report) String() string {
	var b strings.Builder
	if len(r.Results) > 0 {
		r.table(&b)
		r.comparison(&b)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", note)
	}
	return b.String()
}

func (r Report) table(b *strings.Builder) {
	width := len("function")
	for _, f := range r.Results {
		width = max(width, utf8.RuneCountInString(short(f.Name)))
	}
	fmt.Fprintf(b, "%-*s %8s %9s %6s %9s %9s %8s\n", width, "function", "per s", "mean", "±", "median", "p99", "allocs")
	for _, f := range r.Results {
		fmt.Fprintf(b, "%-*s %8s %9s %6s %9s %9s %8s\n", width, short(f.Name), count(f.PerSecond), span(f.Mean),
			fmt.Sprintf("%.0f %%", 100*float64(f.Deviation)/float64(max(f.Mean, 1))), span(f.Median), span(f.P99), count(f.Allocs))
	}
}

func (r Report) comparison(b *strings.Builder) {
	if len(r.Results) < 2 {
		return
	}
	first := r.Results[0]
	fmt.Fprintf(b, "\nBeside %q, in %d rounds:\n", first.Name, r.Rounds)
	for _, f := range r.Results[1:] {
		fmt.Fprintf(b, "  %s: %s\n", printable(f.Name), f.Compared)
	}
}

// String returns "2.94 × slower (2.70 to 3.20)", or says that the difference may be noise.
func (r Ratio) String() string {
	interval := ""
	if r.High > 0 {
		interval = between(r.Low, r.High)
	}
	switch {
	case r.High == 0:
		return fmt.Sprintf("%s × as long, too few rounds to tell whether that is noise", threeDigits(r.Times))
	case r.Noise:
		return fmt.Sprintf("no difference that can be told from noise: %s × as long%s", threeDigits(r.Times), interval)
	case r.Times < 1: // the order of the medians and the median of the ratios may differ
		return threeDigits(1/r.Times) + " × faster" + between(1/r.High, 1/r.Low)
	}
	return threeDigits(r.Times) + " × slower" + interval
}

func between(low, high float64) string {
	return " (" + threeDigits(low) + " to " + threeDigits(high) + ")"
}

func short(name string) string {
	name = printable(name)
	if runes := []rune(name); len(runes) > widestName {
		return string(runes[:widestName-1]) + "…"
	}
	return name
}

// printable escapes the characters of a name that cannot be printed: they could change a terminal, or break a line.
func printable(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}

// span returns a duration with three digits.
func span(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.size {
			return threeDigits(float64(d)/float64(unit.size)) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d ns", d)
}

// count returns a number with three digits and a letter for thousands, millions and billions.
func count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size {
			return threeDigits(n/unit.size) + unit.name
		}
	}
	return threeDigits(n)
}

func threeDigits(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n >= 99.95:
		return fmt.Sprintf("%.0f", n)
	case n >= 9.995:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.2f", n)
}
