package main

import (
	"strings"
	"testing"
)

const runs = `goos: linux
BenchmarkSpawn/n=1000/parent=background/lib=errgroup-ctx-2  100  400 ns/task  2.0 allocs/task
BenchmarkSpawn/n=1000/parent=background/lib=meanwhile-2     100  300 ns/task  2.5 allocs/task
BenchmarkSpawn/n=1000/parent=background/lib=errgroup-ctx-2  100  800 ns/task  2.0 allocs/task
BenchmarkSpawn/n=1000/parent=background/lib=meanwhile-2     100  720 ns/task  2.5 allocs/task
BenchmarkSpawn/n=1000/parent=background/lib=elixir 1 5000.00 ns/task
PASS
`

func TestTables(t *testing.T) {
	r := results{}
	if err := r.read(strings.NewReader(runs)); err != nil {
		t.Fatal(err)
	}
	text := fill("before\n<!-- spawn -->\nold\n<!-- end -->\nafter <!-- bars -->\n<!-- end -->\n", r)
	for _, want := range []string{
		"before\n<!-- spawn -->\n\n| | n=1, ns |",
		"| meanwhile | – | – | – | 510 · 0.82× | 2.50 | – |\n", // 0.75 and 0.9 of the same runs
		"\n<!-- end -->\nafter <!-- bars -->\n\n| subject |",
		"| spawn and wait, 1,000 tasks | no slower than errgroup.WithContext | 0.82× | yes |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "old") {
		t.Errorf("the old table is still there:\n%s", text)
	}
}

const jobRuns = `
BenchmarkDrain/store=sqlite/lib=meanwhile-2    1  9000 jobs/s
BenchmarkDrain/store=sqlite/lib=river-2        1   500 jobs/s
BenchmarkDrain/store=sqlite/lib=river-tuned-2  1  1000 jobs/s
BenchmarkLatency/store=sqlite/lib=meanwhile-2  1  2.5 p50-ms  3.5 p99-ms
`

func TestJobTables(t *testing.T) {
	r := results{}
	if err := r.read(strings.NewReader(jobRuns)); err != nil {
		t.Fatal(err)
	}
	text := fill("<!-- job-bars -->\n<!-- end -->\n<!-- spawn -->\nold\n<!-- end -->\n<!-- job-rates -->\n<!-- end -->\n", r)
	for _, want := range []string{
		"| SQLite: drain 50,000 jobs that do nothing | at least 8.00 × River | 9.00× | yes |\n",
		"| SQLite: from the call to the start, p50 | less than 1.00 ms | 2.50 ms | **no** |\n",
		"| SQLite: from the call to the start, p99 | less than 4.00 ms | 3.50 ms | yes |\n",
		"| river-tuned | – | 1,000 | – | – | – | – |\n",
		"<!-- spawn -->\nold\n", // nothing of it was measured
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{"0.82": 0.825, "12.3": 12.34, "510": 510.2, "1,000,000": 1e6} {
		if got := number(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
