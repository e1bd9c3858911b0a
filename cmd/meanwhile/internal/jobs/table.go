package jobs

import (
	"bufio"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// A column is a column of a table. If least is set, it may be shortened to that width.
type column struct {
	title string
	right bool
	least int
}

// A row has a text for each column, and may have an additional line below.
type row struct {
	cells []string
	below string
}

// A table is written in parts, so that it need not be in memory as a whole; the first part determines the widths of its columns.
type table struct {
	w       *bufio.Writer
	width   int
	columns []column
	widths  []int
}

func newTable(w io.Writer, columns ...column) *table {
	return &table{w: bufio.NewWriter(w), width: widthOf(w), columns: columns}
}

// widthOf returns the width of a terminal, or 80 if w is not a terminal.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// write writes rows; their texts may have any characters.
func (t *table) write(rows []row) error {
	for _, r := range rows {
		for i, cell := range r.cells {
			r.cells[i] = probe.Printable(cell)
		}
	}
	if t.widths == nil {
		t.measure(rows)
		titles := make([]string, len(t.columns))
		for i, c := range t.columns {
			titles[i] = c.title
		}
		t.line(titles)
	}
	for _, r := range rows {
		t.line(r.cells)
		if r.below != "" {
			_, _ = t.w.WriteString(ansi.Truncate("    "+probe.Printable(r.below), t.width, "…") + "\n")
		}
	}
	return t.w.Flush() // the writer keeps earlier errors until then
}

// measure makes the columns as wide as their texts, and then reduces the widest columns that may be shortened until all fit.
func (t *table) measure(rows []row) {
	t.widths = make([]int, len(t.columns))
	all := 2 * (len(t.columns) - 1)
	for i, c := range t.columns {
		t.widths[i] = ansi.StringWidth(c.title)
		for _, r := range rows {
			t.widths[i] = max(t.widths[i], ansi.StringWidth(r.cells[i]))
		}
		all += t.widths[i]
	}
	for ; all > t.width; all-- {
		widest := -1
		for i, c := range t.columns {
			if c.least > 0 && t.widths[i] > c.least && (widest < 0 || t.widths[i] > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

func (t *table) line(cells []string) {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		if t.columns[i].least > 0 {
			cell = ansi.Truncate(cell, t.widths[i], "…")
		}
		pad := strings.Repeat(" ", max(0, t.widths[i]-ansi.StringWidth(cell)))
		if t.columns[i].right {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString(cell)
	}
	_, _ = t.w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}
