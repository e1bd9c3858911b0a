package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

const tableRow = "%-*s %6s %8s %8s %7s %11s %8s %7s\n"

// table formats the measurements, at most 80 columns wide, compared with those of the first variant.
func table(all []figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, tableRow, nameWidth, "", "docs", "enqueue", "total", "docs/s", "memory", "CPU", "faster")
	var parts []string // notes for variants that did not index all documents
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

// known formats a time after a mark, or returns "" for zero.
func known(d time.Duration, mark string) string {
	if d == 0 {
		return "–"
	}
	return mark + seconds(d)
}

// megabytes formats the mean and the maximum.
func megabytes(m memory) string {
	if m.Most == 0 {
		return "–"
	}
	return fmt.Sprintf("%s–%s MB", probe.Number(int(m.Mean/1e6)), probe.Number(int(m.Most/1e6)))
}

// seconds formats a time with at least two digits.
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

// significant formats a number with at least two digits.
func significant(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return probe.Number(int(x + 0.5))
}
