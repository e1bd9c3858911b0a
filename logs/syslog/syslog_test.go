package syslog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// protocol returns a protocol whose clock stands still, on the day of all examples.
func protocol() *Protocol { return wayAt(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)) }

func wayAt(now time.Time) *Protocol {
	return &Protocol{Location: time.UTC, now: func() time.Time { return now }}
}

func counted(messages ...string) string {
	all := ""
	for _, m := range messages {
		all += fmt.Sprintf("%d %s", len(m), m)
	}
	return all
}

const (
	host     = ` facility=String:"user" host=String:"192.0.2.1"`
	example  = `<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - ` + "\ufeff'su root' failed"
	reported = `2003-10-11T22:14:15.003Z ERROR+1 su "'su root' failed" facility=String:"auth" host=String:"mymachine.example.com" msgid=String:"ID47"`
)

func TestFraming(t *testing.T) {
	long := strings.Repeat("x", MaxMessage)
	cut := `INFO a "` + strings.Repeat("x", MaxMessage-7) + `"` + host + ` cut=Bool:"true"`
	tests := map[string]struct {
		input   string
		want    []string
		refused string
	}{
		"nothing":               {},
		"a line":                {input: example + "\n", want: []string{reported}},
		"CR LF":                 {input: example + "\r\n\n\r\n", want: []string{reported}},
		"NUL":                   {input: example + "\x00" + example + "\x00\n" + example + "\n", want: []string{reported, reported, reported}},
		"NUL, several lines":    {input: "<14>a: one\n two\n\nthree\x00<14>a: x\n<14>y\x00", want: []string{`INFO a "one\n two\n\nthree"` + host, `INFO a "x\n<14>y"` + host}},
		"NUL, lines at last":    {input: "<14>a: x\x00<14>a: one\n two\x00", want: []string{`INFO a "x"` + host, `INFO a "one\n two"` + host}},
		"no NUL":                {input: "<14>a: one\n two\n<14>a: x\n three\x00", want: []string{`INFO a "one"` + host, `INFO+1 syslog " two"` + host, `INFO a "x"` + host, `INFO+1 syslog " three"` + host}},
		"no NUL, counts":        {input: "<14>a: one\n two\n8 <14>a: x<14>y\x00", want: []string{`INFO a "one"` + host, `INFO+1 syslog " two"` + host, `INFO a "x"` + host, `INFO syslog "y"` + host}},
		"no NUL, digits":        {input: "<14>a: one\n2026 was\x00", want: []string{`INFO a "one\n2026 was"` + host}},
		"no end":                {input: example, want: []string{reported}},
		"counted":               {input: counted(example, example+"\n"), want: []string{reported, reported}},
		"both":                  {input: counted(example) + example + "\n" + counted(example), want: []string{reported, reported, reported}},
		"several lines counted": {input: counted("<14>a: one\n two\n"), want: []string{`INFO a "one\n two"` + host}},
		"several lines":         {input: "<14>a: one\n two\n", want: []string{`INFO a "one"` + host, `INFO+1 syslog " two"` + host}},
		"digits are no count":   {input: "12:15 hello\n2026 was\n7\n1234567890 <14>a: x\n", want: []string{`INFO+1 syslog "12:15 hello"` + host, `INFO+1 syslog "2026 was"` + host, `INFO+1 syslog "7"` + host, `INFO+1 syslog "1234567890 <14>a: x"` + host}},
		"half a message":        {input: "20 <14>a: hello", refused: "half a message"},
		"half a count":          {input: "20", want: []string{`INFO+1 syslog "20"` + host}},
		"count of zero":         {input: "0 <14>a: x\n", want: []string{`INFO+1 syslog "0 <14>a: x"` + host}},
		"garbage":               {input: "\x16\x03\x01\x02\x00\n\xff\xfe\n<14>a: x\n", want: []string{`INFO a "x"` + host}, refused: "no message"},
		"invalid UTF-8":         {input: "<14>a: \xff\x1b[2J\n", want: []string{`INFO a "\xff\x1b[2J"` + host}},
		"long line":             {input: "<14>a: " + long + "\n<14>a: x\n", want: []string{cut, `INFO a "x"` + host}},
		"long, NUL":             {input: "<14>a: " + long + "\x00<14>a: x\x00", want: []string{cut, `INFO a "x"` + host}},
		"long counted":          {input: counted("<14>a: "+long, "<14>a: x"), want: []string{cut, `INFO a "x"` + host}},
		"longest line":          {input: "<14>a: " + long[7:] + "\n", want: []string{strings.TrimSuffix(cut, ` cut=Bool:"true"`)}},
		"giant count":           {input: "999999999 <14>a: " + long, want: []string{cut}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := logtest.Drive(protocol(), []byte(test.input))
			if !slices.Equal(got.Records, test.want) {
				t.Errorf("got:\n%.2000q\nwant:\n%.2000q", got.Records, test.want)
			}
			if (len(got.Refused) > 0) != (test.refused != "") || test.refused != "" && got.Refused[test.refused] == 0 || got.Err != nil {
				t.Errorf("refused %v, ended with %v, want %q", got.Refused, got.Err, test.refused)
			}
			for cut := range min(len(test.input), 200) {
				if len(test.input) < 1000 || cut%100 == 0 {
					logtest.CheckWay(t, protocol(), []byte(test.input), cut, cut+MaxMessage-40)
				}
			}
		})
	}
}

// A datagram is one message, whatever is in it.
func TestDatagrams(t *testing.T) {
	w := protocol()
	w.Datagrams = true
	for input, want := range map[string][]string{
		"<14>a: one\ntwo\n":  {`INFO a "one\ntwo"` + host},
		"12 <14>a: one":      {`INFO+1 syslog "12 <14>a: one"` + host},
		"":                   nil,
		"\n":                 nil,
		example:              {reported},
		"no priority at all": {`INFO+1 syslog "no priority at all"` + host},
	} {
		if got := logtest.Drive(w, []byte(input)); !slices.Equal(got.Records, want) {
			t.Errorf("%q: got %q, want %q", input, got.Records, want)
		}
	}
}

func TestSplitLaw(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,200}`))
	rapid.Check(t, func(rt *rapid.T) {
		var input string
		var want []string
		for range rapid.IntRange(0, 10).Draw(rt, "messages") {
			message := strings.ReplaceAll(text.Draw(rt, "message"), "\x00", "")
			if rapid.Bool().Draw(rt, "counted") {
				message = strings.TrimRight(message, "\r\n")
				input += counted("<14>a: " + message)
			} else {
				message = strings.TrimRight(strings.ReplaceAll(message, "\n", ""), "\r")
				input += "<14>a: " + message + "\n"
			}
			want = append(want, fmt.Sprintf("INFO a %q", strings.TrimPrefix(message, "\ufeff"))+host)
		}
		if got := logtest.Drive(protocol(), []byte(input)); !slices.Equal(got.Records, want) {
			rt.Fatalf("got %q, want %q", got.Records, want)
		}
		logtest.CheckWay(t, protocol(), []byte(input), rapid.SliceOf(rapid.IntRange(0, len(input))).Draw(rt, "cuts")...)
	})
}

// TestHeaderLaw checks that a message makes the same record after others as it does alone.
func TestHeaderLaw(t *testing.T) {
	const (
		date   = "2026-05-04T03:02:01Z"
		dates  = "May  4 03:02:01"
		secret = "[a@1 b=\"c\"]"
	)
	of := func(texts ...string) *rapid.Generator[string] { return rapid.SampledFrom(texts) }
	priority, word, process := of("<14>", "<15>", "<30>", "", "<999>"), of("-", "a", "b", "a:", "1"), of("-", "7", "8")
	text := of("", " ", "x", " x", "a: x", "- x", "[7]: y", "\ufeffz", "%A-5-B: x", "UTC: %A-5-B: x", "45: "+dates+": %A-5-B: x", "10.0.0.1: x", "info a[7]: x", "a,b: c: x")
	modern := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("1 %s %s %s %s %s%s%s", of(date, "-", "x").Draw(t, "date"), word.Draw(t, "host"), word.Draw(t, "program"), process.Draw(t, "process"),
			of("- ", "ID ", "").Draw(t, "ID"), of("- ", "-", "", secret+" ", "[a ").Draw(t, "data"), text.Draw(t, "text"))
	})
	legacy := rapid.Custom(func(t *rapid.T) string {
		return of(dates+" ", date+" ", "").Draw(t, "date") + of("", "h ", "i ").Draw(t, "host") + of("a", "b", "a b").Draw(t, "tag") +
			of("", "[7]", "[8]", "[7").Draw(t, "process") + of("", ":", ": ", " ").Draw(t, "end") + text.Draw(t, "text")
	})
	rapid.Check(t, func(t *rapid.T) {
		var input string
		var want []string
		for range rapid.IntRange(1, 8).Draw(t, "messages") {
			message := priority.Draw(t, "priority") + rapid.OneOf(modern, legacy).Draw(t, "message") + "\n"
			input += message
			want = append(want, logtest.Drive(protocol(), []byte(message)).Records...)
		}
		if got := logtest.Drive(protocol(), []byte(input)); !slices.Equal(got.Records, want) {
			t.Fatalf("%q\ngot  %q\nwant %q", input, got.Records, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		example + "\n", counted(example), `<165>1 2003-10-11T22:14:15.003Z - - - - [a@1 b="c\"\]" d="e"][f] g`,
		"<13>May  4 03:02:01 host app[7]: x\n", "<13>*May  4 2026 03:02:01.123: app: x\n", "999999999 <1", "<189>45: rtr1: *May  4 03:02:01.5 UTC: %SYS-5-CONFIG_I: x\n", "<189>: 2026 May  4 03:02:01: %$VDC-1%$ %A-5-B: x\n", "<14>May  4 03:02:01 2026 h RP/0:May  4 03:02:01: a[7]: %A-5-B: x\n", "<191>1 - - - - - -\n", "<14>a: one\n two\x00<14>a\x00\n", "<14>a\n b\n<14>c\n",
	} {
		f.Add([]byte(seed), 10, 30)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut, again int) {
		logtest.CheckWay(t, protocol(), data, cut, again)
		w := protocol()
		w.Datagrams = true
		logtest.Drive(w, data)
	})
}

var benchmarks = map[string]string{
	"RFC 5424": "<134>1 2026-05-04T03:02:01.123456Z host1 api 4711 - - " + strings.Repeat("x", 45),
	"RFC 3164": "<134>May  4 03:02:01 host1 api[4711]: " + strings.Repeat("x", 61),
	"data":     `<134>1 2026-05-04T03:02:01Z host1 api 4711 - [req@1 id="17" path="/x"] ` + strings.Repeat("x", 28),
}

func TestParseAllocatesNothing(t *testing.T) {
	for name, message := range benchmarks {
		input := []byte(strings.Repeat(message+"\n", 10))
		p := (&Protocol{}).Parser("192.0.2.1:5", nil)
		var batcher nowhere
		p.Parse(input, &batcher)
		if n := testing.AllocsPerRun(100, func() { p.Parse(input, &batcher) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// nowhere only counts records.
type nowhere struct {
	input.Batcher
	records int
}

func (n *nowhere) Add(*logs.View) { n.records++ }

func BenchmarkParse(b *testing.B) {
	for name, message := range benchmarks {
		for _, frame := range []string{message + "\n", counted(message)} {
			framing := "lines"
			if frame[0] != '<' {
				framing = "counted"
			}
			b.Run(name+"/"+framing, func(b *testing.B) {
				input := []byte(strings.Repeat(frame, 600))
				p := (&Protocol{}).Parser("192.0.2.1:5", nil)
				var batcher nowhere
				b.SetBytes(int64(len(message)))
				b.ReportAllocs()
				for batcher.records < b.N {
					p.Parse(input, &batcher)
				}
			})
		}
	}
}

// BenchmarkParseDatagram parses datagrams with a parser that is kept, as that of a host, or with a new one each, as beyond the number of
// hosts that are kept.
func BenchmarkParseDatagram(b *testing.B) {
	for name, message := range benchmarks {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/kept=%t", name, kept), func(b *testing.B) {
				input := []byte(message)
				protocol := &Protocol{Datagrams: true}
				p := protocol.Parser("192.0.2.1:5", nil)
				var batcher nowhere
				b.SetBytes(int64(len(message)))
				b.ReportAllocs()
				for b.Loop() {
					if !kept {
						p = protocol.Parser("192.0.2.1:5", nil)
					}
					p.End(input, &batcher)
				}
			})
		}
	}
}
