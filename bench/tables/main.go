// Tables reads the results of benchmarks, of one or more runs, and prints the tables of docs/benchmarks-method.md: the medians,
// and the ratios between figures of the same run. With -w it writes the tables into a file, each between the lines <!-- NAME -->
// and <!-- end -->, and the output of benchstat as the last one, benchstat.
//
//	go run ./tables [-w ../docs/benchmarks-method.md] [-stat benchstat.txt] results.txt
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	file := flag.String("w", "", "put the tables into this `file` instead of printing them")
	stat := flag.String("stat", "", "with -w, put this `file` into the table benchstat")
	flag.Parse()
	if err := run(*file, *stat, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(file, stat string, inputs []string) error {
	results := results{}
	for _, name := range inputs {
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		err = results.read(in)
		if err := in.Close(); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	if file == "" {
		for _, t := range tables {
			if text := t.markdown(results); text != "" {
				fmt.Printf("## %s\n\n%s\n", t.name, text)
			}
		}
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled := fill(string(text), results)
	if stat != "" {
		printed, err := os.ReadFile(stat)
		if err != nil {
			return err
		}
		filled = put(filled, "benchstat", "```text\n"+string(printed)+"```\n")
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}

// fill puts the tables of the results into the text.
func fill(text string, r results) string {
	for _, t := range tables {
		if table := t.markdown(r); table != "" {
			text = put(text, t.name, table)
		}
	}
	return text
}

// put replaces the text between the lines that mark a table. A text without these lines is not changed.
func put(text, name, table string) string {
	start := "<!-- " + name + " -->\n"
	before, rest, found := strings.Cut(text, start)
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, "<!-- end -->")
	return before + start + "\n" + table + "\n<!-- end -->" + after
}

// results are the values of each benchmark, by its name without the prefix and the suffix of go test, and by unit, in the order
// of the runs.
type results map[string]map[string][]float64

var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

func (r results) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		units := r[m[1]]
		if units == nil {
			units = map[string][]float64{}
			r[m[1]] = units
		}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("the figures of %s: %w", m[1], err)
			}
			units[fields[i+1]] = append(units[fields[i+1]], value)
		}
	}
	return lines.Err()
}

// median returns the median of a benchmark's values; false if it was not run.
func (r results) median(name, unit string) (float64, bool) {
	return median(r[name][unit])
}

// worst returns the largest of a benchmark's values; false if it was not run.
func (r results) worst(name, unit string) (float64, bool) {
	values := r[name][unit]
	if len(values) == 0 {
		return 0, false
	}
	return slices.Max(values), true
}

// ratio returns the median of the ratios of all runs, so that a machine that becomes slower does not change it.
func (r results) ratio(name, base, unit string) (float64, bool) {
	return ratio(r[name][unit], r[base][unit])
}

func ratio(a, b []float64) (float64, bool) {
	if len(a) != len(b) {
		x, okA := median(a)
		y, okB := median(b)
		return x / y, okA && okB
	}
	var ratios []float64
	for i := range a {
		ratios = append(ratios, a[i]/b[i])
	}
	return median(ratios)
}

func median(values []float64) (float64, bool) {
	n := len(values)
	if n == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, true
}

// number formats a figure with its significant digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
