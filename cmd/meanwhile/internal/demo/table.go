package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

const tableRow = "%-*s %6s %8s %8s %7s %11s %8s %7s\n"

// table shows the figures, at most 80 columns wide; the first way is what the others are compared with.
func table(all []figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, tableRow, nameWidth, "", "docs", "enqueue", "total", "docs/s", "memory", "CPU", "faster")
	var parts []string // of those who did not index all
	for _, f := range all {
		mark := ""
		if f.part < f.of {
			mark, parts = "~", append(parts, fmt.Sprintf("%s (%s)", probe.Number(f.part), f.name))
		}
		fmt.Fprintf(&b, tableRow, nameWidth, f.name, probe.Number(f.part), known(f.enqueue, ""),
			known(f.total, mark), significant(f.rate()), megabytes(f.memory), known(f.cpu, mark), significant(f.rate()/all[0].rate())+"×")
	}
	if len(parts) > 0 {
		fmt.Fprintf(&b, "~ extrapolated to %s, from %s.\n", probe.Count(all[0].of, "document"), strings.Join(parts, " and "))
	}
	b.WriteString("docs/s and faster follow from total, which includes enqueue.\nmemory (mean – most) and CPU are of the process that does the work, without\nthe search engine and the dashboard.\n")
	return b.String()
}

// known shows a time behind a mark; zero is none.
func known(d time.Duration, mark string) string {
	if d == 0 {
		return "–"
	}
	return mark + seconds(d)
}

// megabytes shows the mean and the most.
func megabytes(m memory) string {
	if m.Most == 0 {
		return "–"
	}
	return fmt.Sprintf("%s–%s MB", probe.Number(int(m.Mean/1e6)), probe.Number(int(m.Most/1e6)))
}

// seconds shows a time with two digits or more.
func seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.0995:
		return fmt.Sprintf("%.3f s", s)
	case s < 9.95:
		return fmt.Sprintf("%.2f s", s)
	}
	return probe.Number(int(s+0.5)) + " s"
}

// significant shows a number with two digits or more.
func significant(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return probe.Number(int(x + 0.5))
}
