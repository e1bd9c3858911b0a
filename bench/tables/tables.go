package main

import (
	"fmt"
	"strings"
)

// A table has a row for each library, or for each bar.
type table struct {
	name    string
	libs    []string
	columns []column
	worst   bool // the figures are the worst of all runs instead of their medians
	bars    []bar
}

// A column shows one figure of each library, and its ratio to that of the library base, if there is one. A base of * is the loop
// in the library's own language.
type column struct {
	title string
	name  string // of the benchmark, without the library
	unit  string
	base  string
}

// markdown returns the table, or "" if none of its benchmarks was run.
func (t table) markdown(r results) string {
	if t.bars != nil {
		return markdownBars(r, t.bars)
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range t.columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(t.columns)) + "\n")
	found := false
	for _, lib := range t.libs {
		cells := make([]string, len(t.columns))
		some := false
		for i, c := range t.columns {
			cells[i] = c.cell(r, lib, t.worst)
			some = some || cells[i] != "–"
		}
		if some {
			fmt.Fprintf(&b, "| %s | %s |\n", lib, strings.Join(cells, " | "))
			found = true
		}
	}
	if !found {
		return ""
	}
	return b.String()
}

func (c column) cell(r results, lib string, worst bool) string {
	of := r.median
	if worst {
		of = r.worst
	}
	value, ok := of(c.name+lib, c.unit)
	if !ok {
		return "–"
	}
	base := c.name + c.base
	if c.base == "*" {
		base = c.name + lib + "-loop"
		if r[base] == nil {
			base = c.name + "loop"
		}
	}
	ratio, ok := r.ratio(c.name+lib, base, c.unit)
	if c.base == "" || !ok {
		return number(value)
	}
	return number(value) + " · " + number(ratio) + "×"
}

// A bar is a figure that was set before the measurement.
type bar struct {
	what     string
	want     string
	measured func(r results) (worst float64, ok bool)
	most     float64
	less     bool // strictly less than most
	unit     string
	atLeast  bool // most is a minimum instead
}

func (b bar) missed(v float64) bool {
	if b.atLeast {
		return v < b.most
	}
	return v > b.most || b.less && v == b.most
}

func markdownBars(r results, bars []bar) string {
	var b strings.Builder
	some := false
	b.WriteString("| subject | bar | measured | met |\n|---|---|---:|---|\n")
	for _, bar := range bars {
		measured, met := "–", "–"
		if v, ok := bar.measured(r); ok {
			some, measured, met = true, number(v)+bar.unit, "yes"
			if bar.missed(v) {
				met = "**no**"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", bar.what, bar.want, measured, met)
	}
	if !some {
		return ""
	}
	return b.String()
}

// worst returns the largest ratio between ours and one of the bases, over all names.
func worst(unit, ours string, bases []string, names ...string) func(r results) (float64, bool) {
	return func(r results) (largest float64, ok bool) {
		for _, name := range names {
			for _, base := range bases {
				if ratio, found := r.ratio(name+ours, name+base, unit); found {
					largest, ok = max(largest, ratio), true
				}
			}
		}
		return largest, ok
	}
}

// figure returns the largest median of ours, over all names.
func figure(unit string, names ...string) func(r results) (float64, bool) {
	ours := make([]string, len(names))
	for i, name := range names {
		ours[i] = name + "meanwhile"
	}
	return largest(unit, ours...)
}

// largest returns the largest median over all names, each with its library.
func largest(unit string, names ...string) func(r results) (float64, bool) {
	return func(r results) (largest float64, ok bool) {
		for _, name := range names {
			if v, found := r.median(name, unit); found {
				largest, ok = max(largest, v), true
			}
		}
		return largest, ok
	}
}

// smallest returns the smallest median over all names, each with its library.
func smallest(unit string, names ...string) func(r results) (float64, bool) {
	return func(r results) (smallest float64, ok bool) {
		for _, name := range names {
			if v, found := r.median(name, unit); found && (!ok || v < smallest) {
				smallest, ok = v, true
			}
		}
		return smallest, ok
	}
}

// more returns how much more of a unit a task uses than a bare goroutine.
func more(name, unit string) func(r results) (float64, bool) {
	return func(r results) (float64, bool) {
		ours, okA := r.median(name+"meanwhile", unit)
		theirs, okB := r.median(name+"goroutine", unit)
		return ours - theirs, okA && okB
	}
}

var (
	trivial = []string{"Map/item=trivial/limit=8/lib=", "Map/item=trivial/limit=64/lib=", "Map/item=trivial/limit=1000/lib="}
	cancels = []string{"Cancel/n=100000/by=parent/lib=", "Cancel/n=100000/by=failure/lib="}

	scopes = []string{
		"goroutine", "context", "errgroup", "errgroup-ctx", "conc", "nursery", "pond", "ants", "workerpool", "lo",
		"meanwhile", "meanwhile-name", "meanwhile-wait",
	}
	mappers = []string{
		"workers", "conc-iter", "errgroup", "conc-stream", "conc-pool", "rill", "pond", "ants", "workerpool", "lo", "meanwhile",
	}
	languages = []string{"elixir", "ruby", "python", "meanwhile"}
)

var taskTables = []table{
	{name: "bars", bars: []bar{
		{"spawn and wait, 1,000 tasks", "no slower than errgroup.WithContext", worst("ns/task", "meanwhile", []string{"errgroup-ctx"}, "Spawn/n=1000/parent=background/lib="), 1, false, "×", false},
		{"the same, each with a name", "no slower than errgroup.WithContext", worst("ns/task", "meanwhile-name", []string{"errgroup-ctx"}, "Spawn/n=1000/parent=background/lib="), 1, false, "×", false},
		{"spawn and wait, one task, below context.Background", "1.3 × errgroup.WithContext", worst("ns/task", "meanwhile", []string{"errgroup-ctx"}, "Spawn/n=1/parent=background/lib="), 1.3, false, "×", false},
		{"the same, below a ctx that can be canceled", "1.3 × errgroup.WithContext", worst("ns/task", "meanwhile", []string{"errgroup-ctx"}, "Spawn/n=1/parent=cancelable/lib="), 1.3, false, "×", false},
		{"ordered map, 100,000 trivial items, the worst of three limits", "0.6 × errgroup.SetLimit", worst("ns/item", "meanwhile", []string{"errgroup"}, trivial...), 0.6, false, "×", false},
		{"the same, allocations for an item", "1", figure("allocs/item", trivial...), 1, false, "", false},
		{"the same, against the closest of conc's stream and pool, pond, ants, lo and workerpool", "ahead", worst("ns/item", "meanwhile", []string{"conc-stream", "conc-pool", "pond", "ants", "lo", "workerpool"}, trivial...), 1, true, "×", false},
		{"the same, against conc's iter.MapErr over a slice", "ahead", worst("ns/item", "meanwhile", []string{"conc-iter"}, trivial...), 1, true, "×", false},
		{"every 100th item 20 times slower, ordered", "1.2 × unordered", worst("ms", "meanwhile", []string{"meanwhile-unordered"}, "Slow/lib="), 1.2, false, "×", false},
		{"10,000 items of 1 ms, 1,000 at once", "1.6 × the ideal of 10 ms", figure("x-ideal", "Wait1ms/lib="), 1.6, false, "×", false},
		{"1,000 tasks that wait for 500 ms", "less than 510 ms", figure("ms", "Wait500ms/lib="), 510, true, " ms", false},
		{"memory of a sleeping task of 1,000,000", "300 bytes more than a goroutine in time.Sleep", more("Memory/n=1000000/lib=", "B/task"), 300, false, " B", false},
		{"cancel 100,000 waiting tasks, the worse of two ways", "faster than errgroup", worst("ms", "meanwhile", []string{"errgroup-ctx"}, cancels...), 1, true, "×", false},
	}},
	{name: "spawn", libs: scopes, columns: []column{
		{"n=1, ns", "Spawn/n=1/parent=background/lib=", "ns/task", "errgroup-ctx"},
		{"n=1, cancelable, ns", "Spawn/n=1/parent=cancelable/lib=", "ns/task", "errgroup-ctx"},
		{"allocs", "Spawn/n=1/parent=cancelable/lib=", "allocs/task", ""},
		{"n=1,000, ns/task", "Spawn/n=1000/parent=background/lib=", "ns/task", "errgroup-ctx"},
		{"allocs/task", "Spawn/n=1000/parent=background/lib=", "allocs/task", ""},
		{"B/task", "Spawn/n=1000/parent=background/lib=", "B/task", ""},
	}},
	{name: "map", libs: mappers, columns: []column{
		{"limit 8", trivial[0], "ns/item", "errgroup"},
		{"limit 64", trivial[1], "ns/item", "errgroup"},
		{"limit 1,000", trivial[2], "ns/item", "errgroup"},
		{"allocs/item at 64", trivial[1], "allocs/item", ""},
		{"SHA-256 of 1 KiB, limit 64", "Map/item=sha256/limit=64/lib=", "ns/item", "errgroup"},
	}},
	{name: "waits", libs: append([]string{"meanwhile-unordered"}, mappers...), columns: []column{
		{"every 100th slow, ms", "Slow/lib=", "ms", ""},
		{"× ideal", "Slow/lib=", "x-ideal", ""},
		{"10,000 × 1 ms, ms", "Wait1ms/lib=", "ms", ""},
		{"× ideal", "Wait1ms/lib=", "x-ideal", ""},
	}},
	{name: "scopes", libs: append([]string{"goroutine-ctx"}, scopes...), columns: []column{
		{"1,000 × 500 ms, ms", "Wait500ms/lib=", "ms", ""},
		{"100,000 asleep, B/task", "Memory/n=100000/lib=", "B/task", ""},
		{"1,000,000 asleep, B/task", "Memory/n=1000000/lib=", "B/task", ""},
		{"canceled by the parent, ms", cancels[0], "ms", "errgroup-ctx"},
		{"by a failure, ms", cancels[1], "ms", "errgroup-ctx"},
	}},
	{name: "small", libs: append([]string{"loop"}, mappers...), columns: []column{
		{"ns", "Small/lib=", "ns/map", "loop"},
		{"allocs", "Small/lib=", "allocs/map", ""},
	}},
	{name: "semaphore", libs: []string{"channel", "semaphore", "meanwhile"}, columns: []column{
		{"alone, ns", "Semaphore/contended=no/lib=", "ns/op", ""},
		{"contended, ns", "Semaphore/contended=yes/lib=", "ns/op", ""},
	}},
	{name: "sleep", libs: []string{"time.Sleep", "timer-and-ctx", "meanwhile.Sleep"}, columns: []column{
		{"ns", "Sleep/with=", "ns/sleep", "timer-and-ctx"},
		{"allocs", "Sleep/with=", "allocs/sleep", ""},
	}},
	{name: "options", libs: []string{"none", "unordered", "adaptive", "rate", "timeout", "retry", "observe"}, columns: []column{
		{"ns/item", "Option/option=", "ns/item", "none"},
		{"allocs/item", "Option/option=", "allocs/item", ""},
	}},
	{name: "tree", libs: []string{"meanwhile", "meanwhile-text", "pprof-1", "pprof-2", "stack-all"}, columns: []column{
		{"10,000 tasks, ms", "Tree/n=10000/lib=", "ms", ""},
		{"pause, ms", "Tree/n=10000/lib=", "pause-ms", ""},
		{"longest", "Tree/n=10000/lib=", "longest-pause-ms", ""},
		{"100,000 tasks, ms", "Tree/n=100000/lib=", "ms", ""},
		{"pause, ms", "Tree/n=100000/lib=", "pause-ms", ""},
		{"longest", "Tree/n=100000/lib=", "longest-pause-ms", ""},
	}},
	{name: "churn", libs: []string{"meanwhile"}, columns: []column{
		{"held after 1,000,000 tasks, MB", "Churn/lib=", "first-MB", ""},
		{"after 10,000,000, MB", "Churn/lib=", "last-MB", ""},
		{"ns/task", "Churn/lib=", "ns/task", ""},
	}},
	{name: "languages", libs: languages, columns: []column{
		{"spawn 1,000, ns/task", "Spawn/n=1000/parent=background/lib=", "ns/task", ""},
		{"map 100,000 at 64, ns/item", trivial[1], "ns/item", ""},
		{"every 100th slow, ms", "Slow/lib=", "ms", ""},
		{"10,000 × 1 ms, ms", "Wait1ms/lib=", "ms", ""},
		{"1,000 × 500 ms, ms", "Wait500ms/lib=", "ms", ""},
		{"100,000 asleep, resident B/task", "Memory/n=100000/lib=", "rss-B/task", ""},
		{"cancel 100,000, ms", cancels[0], "ms", ""},
		{"five numbers, ns · × a loop", "Small/lib=", "ns/map", "*"},
	}},
	{name: "ruby", libs: []string{"ruby"}, columns: []column{
		{"20,000 asleep, resident B/task", "Memory/n=20000/lib=", "rss-B/task", ""},
		{"cancel 20,000, ms", "Cancel/n=20000/by=parent/lib=", "ms", ""},
	}},
}
