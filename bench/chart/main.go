// Chart draws the picture of docs/benchmarks.md from the tables of docs/benchmarks-method.md, so that it shows no figure that is not
// in these tables.
//
//	go run ./chart ../docs/benchmarks-method.md >../docs/benchmarks.svg
package main

import (
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
)

// A cell is one figure of a table.
type cell struct {
	table  string // the line before the table, or its first line
	row    string // the start of the row
	column int    // from 1, after the name of the row
	title  string // its name in the picture
}

// A panel is a group of bars with one scale.
type panel struct {
	title, unit string
	cells       []cell
	base        float64 // a reference line for the bars; zero is none
}

const ratios = "| subject | compared with | goal | one processor | two processors | met |"

var panels = []panel{
	{"Processor time of tasks, errgroup is 1× (less is better)", "×", []cell{
		{ratios, "spawn and wait, one task", 4, "one task, started and waited for"},
		{ratios, "spawn and wait, 1,000 tasks", 4, "1,000 tasks"},
		{ratios, "Async and Wait of each, 1,000 tasks", 4, "1,000 tasks with results"},
		{ratios, "cancel 100,000 waiting tasks, from above", 4, "cancel 100,000 waiting tasks"},
		{ratios, "the same, limit 64", 4, "ordered map, 64 at once"},
	}, 1},
	{"Jobs per second on PostgreSQL (more is better)", "", []cell{
		{"<!-- job-rates -->", "meanwhile", 1, "run 50,000 no-op jobs: meanwhile"},
		{"<!-- job-rates -->", "river-tuned", 1, "River, tuned"},
		{"<!-- job-enqueue-postgres -->", "meanwhile", 3, "enqueue, 16 callers: meanwhile"},
		{"<!-- job-enqueue-postgres -->", "river-tuned", 3, "River, tuned"},
	}, 0},
	{"Log messages per second, RFC 5424 over 8 connections (more is better)", "", []cell{
		{"<!-- log-rfc5424-lf -->", "meanwhile", 5, "meanwhile"},
		{"<!-- log-rfc5424-lf -->", "syslog-ng", 5, "syslog-ng"},
		{"<!-- log-rfc5424-lf -->", "rsyslog", 5, "rsyslog"},
	}, 0},
	{"A call of log/slog, 8 goroutines, in ns (less is better)", "", []cell{
		{"<!-- log-handler -->", "meanwhile-up", 3, "meanwhile, server up"},
		{"<!-- log-handler -->", "meanwhile-down-spool", 3, "meanwhile, server down, spooled"},
		{"<!-- log-handler -->", "slog-json-file", 3, "slog.JSONHandler to a file"},
		{"<!-- log-handler -->", "slog-json-syslog", 3, "slog.JSONHandler to local syslog"},
	}, 0},
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: chart BENCHMARKS.md >PICTURE.svg")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := draw(os.Stdout, string(text), panels); err != nil {
		log.Fatalf("%s: %v", os.Args[1], err)
	}
}

// find returns the figure of a cell as it is written, up to a comma and a space.
func find(text string, c cell) (string, error) {
	at := strings.Index(text, c.table+"\n")
	if at < 0 {
		return "", fmt.Errorf("there is no table %s", c.table)
	}
	begun := false
	for line := range strings.Lines(text[at:]) {
		isRow := strings.HasPrefix(line, "|")
		if !isRow && begun {
			break
		}
		begun = begun || isRow
		columns := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if isRow && strings.TrimSpace(columns[0]) == c.row {
			if c.column >= len(columns) {
				return "", fmt.Errorf("%s: row %q has no column %d", c.table, c.row, c.column)
			}
			figure, _, _ := strings.Cut(strings.TrimSpace(columns[c.column]), ", ")
			return figure, nil
		}
	}
	return "", fmt.Errorf("%s: there is no row %q", c.table, c.row)
}

// The dimensions of the picture, in pixels.
const (
	width    = 760
	nameEnd  = 300 // where names end and bars start
	barsEnd  = 660
	rowHigh  = 24
	headHigh = 40
)

// draw writes the picture.
func draw(out io.Writer, text string, panels []panel) error {
	var body strings.Builder
	y := 0
	for _, p := range panels {
		y += headHigh
		fmt.Fprintf(&body, "<text x=\"16\" y=\"%d\" font-weight=\"600\">%s</text>\n", y-10, html.EscapeString(p.title))
		most := p.base
		figures := make([]string, len(p.cells))
		values := make([]float64, len(p.cells))
		for i, c := range p.cells {
			figure, err := find(text, c)
			if err != nil {
				return err
			}
			value, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(figure, "×"), ",", ""), 64)
			if err != nil {
				return fmt.Errorf("%s, row %q: %q is not a number", c.table, c.row, figure)
			}
			figures[i], values[i], most = figure, value, max(most, value)
		}
		scale := (barsEnd - nameEnd) / most
		top := y
		for i, c := range p.cells {
			color := "#9aa5b5"
			if strings.Contains(c.row, "meanwhile") || p.base > 0 {
				color = "#2f6fde"
			}
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", nameEnd-8, y+15, html.EscapeString(c.title))
			fmt.Fprintf(&body, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", nameEnd, y+3, values[i]*scale, rowHigh-7, color)
			fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", float64(nameEnd)+values[i]*scale+6, y+15, figures[i])
			y += rowHigh
		}
		if p.base > 0 {
			x := nameEnd + p.base*scale
			fmt.Fprintf(&body, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#16181d\" stroke-dasharray=\"3 3\"/>\n", x, top, x, y)
		}
	}
	y += 12
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui,sans-serif" font-size="13" fill="#16181d">
<title>Benchmarks of tasks, jobs and logs, beside other libraries and servers</title>
<rect width="%d" height="%d" rx="8" fill="#ffffff"/>
%s</svg>
`, width, y, width, y, width, y, body.String())
	return err
}
