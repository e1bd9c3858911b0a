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

// A column of a table. One with a least width may be cut down to that.
type column struct {
	title string
	right bool
	least int
}

// A row has a text for each column, and may have a line of its own below.
type row struct {
	cells []string
	below string
}

// A table is written in parts, so that it need not be in memory as a whole; the first part says how wide its columns are.
type table struct {
	w       *bufio.Writer
	width   int
	columns []column
	widths  []int
}

func newTable(w io.Writer, columns ...column) *table {
	return &table{w: bufio.NewWriter(w), width: widthOf(w), columns: columns}
}

// widthOf returns the columns of a terminal, and 80 for what is none.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// write writes rows; their texts may hold anything.
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
	return t.w.Flush() // errors stay with the writer until then
}

// measure makes the columns as wide as what is in them, and then the widest that may be cut narrower until all fit.
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
