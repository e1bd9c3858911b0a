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
		"| meanwhile | – | – | – | 510 · 0.82× | 2.50 | – |\n", // 0.75 and 0.9 in the same runs
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
BenchmarkDrain/store=redis/lib=meanwhile-2     1  8000 jobs/s
BenchmarkDrain/store=redis/lib=asynq-2         1  4000 jobs/s
BenchmarkBullMQ-2                              1  3000 bulk-jobs/s  1000 drain-jobs/s
BenchmarkKeys/store=redis/lib=meanwhile-2      1  75 %-of-without  7500 jobs/s
BenchmarkLimits/store=redis/lib=meanwhile-store-2  1  9000 none-jobs/s  90 queue-%  50 1000-keys-%
`

const dashboardRuns = `
BenchmarkDashboardPages/store=postgres/page=overview-2  1  20.00 p50-ms  30.00 p99-ms
BenchmarkDashboardPages/store=postgres/page=overview-2  1  22.00 p50-ms  25.00 p99-ms
BenchmarkDashboardPages/store=sqlite/page=overview-2    1  11.00 p50-ms  12.00 p99-ms
`

// For pages, the worst run counts.
func TestDashboardTable(t *testing.T) {
	r := results{}
	if err := r.read(strings.NewReader(dashboardRuns)); err != nil {
		t.Fatal(err)
	}
	want := "| overview | 22.0 | 30.0 | 11.0 | 12.0 |\n"
	if text := fill("<!-- job-dashboard -->\n<!-- end -->\n", r); !strings.Contains(text, want) {
		t.Errorf("%q is missing in:\n%s", want, text)
	}
}

func TestJobTables(t *testing.T) {
	r := results{}
	if err := r.read(strings.NewReader(jobRuns)); err != nil {
		t.Fatal(err)
	}
	text := fill("<!-- job-bars -->\n<!-- end -->\n<!-- spawn -->\nold\n<!-- end -->\n<!-- job-rates -->\n<!-- end -->\n<!-- job-redis-bars -->\n<!-- end -->\n<!-- job-redis -->\n<!-- end -->\n<!-- job-limits-redis -->\n<!-- end -->\n", r)
	for _, want := range []string{
		"| SQLite: drain 50,000 jobs that do nothing | at least 8.00 × River | 9.00× | yes |\n",
		"| SQLite: from the call to the start, p50 | less than 1.00 ms | 2.50 ms | **no** |\n",
		"| SQLite: from the call to the start, p99 | less than 4.00 ms | 3.50 ms | yes |\n",
		"| river-tuned | – | 1,000 | – | – | – | – |\n",
		"| drain 50,000 jobs that do nothing | at least 8.00 × asynq | 2.00× | **no** |\n",
		"| drain 50,000 jobs that do nothing | at least 5.00 × BullMQ | 8.00× | yes |\n",
		"| enqueue in bulk | at least 8.00 × BullMQ | – | – |\n",
		"| drain 50,000 jobs with 1,000 limit keys | 80 % of the same without | 75.0 % | **no** |\n",
		"| meanwhile-store | 9,000 | 90.0 | 50.0 | – | – |\n",
		"| asynq | 4,000 |",
		"<!-- spawn -->\nold\n", // its benchmark was not run
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

const logRuns = `
BenchmarkIn/in=analogger/conns=1/lib=meanwhile-2     1  4800000 messages/s  0.25 µs-cpu/message  0 lost
BenchmarkIn/in=analogger/conns=200/lib=meanwhile-2   1  3000000 messages/s  0.25 µs-cpu/message  0 lost
BenchmarkIn/in=rfc3164-lf/conns=1/lib=rsyslog-2      1  1200000 messages/s  1.00 µs-cpu/message  0 lost
BenchmarkIn/in=rfc3164-lf/conns=200/lib=rsyslog-2    1  1200000 messages/s  1.00 µs-cpu/message  0 lost
BenchmarkHandler/goroutines=8/lib=meanwhile-up-2     1  300 ns/op  600 cpu-ns/op  0 allocs/op
BenchmarkHandler/goroutines=8/lib=meanwhile-down-2   1  500 ns/op  600 cpu-ns/op  2 allocs/op
BenchmarkHandler/goroutines=8/lib=slog-nothing-2     1  100 ns/op  200 cpu-ns/op  0 allocs/op
`

func TestLogTables(t *testing.T) {
	r := results{}
	if err := r.read(strings.NewReader(logRuns)); err != nil {
		t.Fatal(err)
	}
	text := fill("<!-- log-bars -->\n<!-- end -->\n<!-- log-handler -->\n<!-- end -->\n", r)
	for _, want := range []string{
		"| Analogger, to a file: messages/s, the worst of three | at least 3 × rsyslog | 2.50× | **no** |\n",
		"| Analogger: messages/s, the worst of three | at least 30 × Analogger's own | 25.0× | **no** |\n",
		"the slowest of up, down and down with a spool | less than 500 ns | 500 ns | **no** |\n",
		"| handler: allocations of a call | at most 1 | 2.00 | **no** |\n",
		"| slog-nothing | – | – | 100 | 200 | 0.00 |\n",
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
