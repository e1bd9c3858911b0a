package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// measured is a figure with two digits or more.
var measured = regexp.MustCompile(`\d[\d,]*(\.\d+)?\d|\d`)

// TestBenchmarkFigures finds each figure of the summary in the page that says how it was measured.
func TestBenchmarkFigures(t *testing.T) {
	summary, err := os.ReadFile("benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	method, err := os.ReadFile("benchmarks-method.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, figure := range measured.FindAllString(string(method), -1) {
		there[figure] = true
	}
	figures := measured.FindAllString(code.ReplaceAllString(link.ReplaceAllString(string(summary), "]"), ""), -1)
	if len(figures) < 20 {
		t.Fatalf("the summary has %d figures", len(figures))
	}
	for _, figure := range figures {
		if !there[figure] {
			t.Errorf("%s is not in benchmarks-method.md", figure)
		}
	}
	if !strings.Contains(string(summary), "(benchmarks.svg)") {
		t.Error("the summary has no picture")
	}
}
