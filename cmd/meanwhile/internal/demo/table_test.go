package demo

import (
	"bytes"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	all := []figures{
		{variant: variant{name: "one by one", part: 40}, of: 1000, total: 52 * time.Second, cpu: 1250 * time.Millisecond, memory: memory{18e6, 26e6}},
		{variant: variant{name: "3 workers", part: 120}, of: 1000, enqueue: 23 * time.Millisecond, total: 19 * time.Second, cpu: time.Second, memory: memory{24e6, 30e6}},
		{variant: variant{name: "1,000 tasks", part: 1000}, of: 1000, enqueue: 21 * time.Millisecond, total: 532 * time.Millisecond, cpu: 510 * time.Millisecond, memory: memory{61e6, 88e6}},
	}
	want := `                docs  enqueue    total  docs/s      memory      CPU  faster
one by one        40        –    ~52 s      19    18–26 MB  ~1.25 s    1.0×
3 workers        120  0.023 s    ~19 s      53    24–30 MB  ~1.00 s    2.7×
1,000 tasks    1,000  0.021 s   0.53 s   1,880    61–88 MB   0.51 s     98×
~ extrapolated to 1,000 documents, from 40 (one by one) and 120 (3 workers).
docs/s and faster follow from total, which includes enqueue.
memory (mean – most) and CPU are of the process that does the work, without
the search engine and the dashboard.
`
	if got := table(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A system on which CPU time and memory are unknown, with all documents indexed.
	last := all[2]
	last.cpu, last.memory = 0, memory{}
	want = `                docs  enqueue    total  docs/s      memory      CPU  faster
1,000 tasks    1,000  0.021 s   0.53 s   1,880           -        -    1.0x
docs/s and faster follow from total, which includes enqueue.
memory (mean - most) and CPU are of the process that does the work, without
the search engine and the dashboard.
`
	var out bytes.Buffer
	console{out: &out}.print(table([]figures{last}))
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBar(t *testing.T) {
	c := console{blocks: true}
	if got, want := c.bar(80, "3 workers", 52, 120), "3 workers     █████████████████▍░░░░░░░░░░░░░░░░░░░░░░   43%  52/120"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for width := 20; width < 120; width++ {
		for _, blocks := range []bool{true, false} {
			line := console{blocks: blocks}.bar(width, "1,000 tasks", 1000, 1000)
			if n := utf8.RuneCountInString(line); n >= width || !blocks && n != len(line) {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
		}
	}
}

func TestShowHit(t *testing.T) {
	for want, text := range map[string]string{
		"  io.Reader\n    Reader wraps the basic *Read* method.\n": "Reader wraps\n\tthe basic <em>Read</em> method.",
		"  io.Reader\n":                "",
		"  io.Reader\n    ?[31m red\n": "\x1b[31m red",
		"  io.Reader\n    xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx …\n": "xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxx",
	} {
		if got := showHit("io.Reader", text); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	}
}
