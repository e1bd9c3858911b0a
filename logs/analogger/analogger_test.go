package analogger

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// frame returns a frame as a client writes it.
func frame(service, severity, message string) string {
	n := 11 + len(service) + len(severity) + len(message)
	return fmt.Sprintf("%04d%04d:%s:%s:%s", n, n, service, severity, message)
}

func hello(key string) string { return frame("any", "authentication", key) }

func TestParse(t *testing.T) {
	tests := map[string]struct {
		key, input string
		want       []string
		reply      string
		refused    string
		ended      bool
	}{
		"nothing":             {},
		"key":                 {key: "secret", input: hello("secret"), reply: accepted},
		"no key":              {input: hello(""), reply: accepted},
		"key with colons":     {key: "a:b::", input: hello("a:b::"), reply: accepted},
		"wrong key":           {key: "secret", input: hello("Secret") + frame("a", "info", "b"), reply: denied, refused: "wrong key", ended: true},
		"a record first":      {key: "secret", input: frame("a", "info", "b"), reply: denied, refused: "wrong key", ended: true},
		"no key, a key":       {input: hello("x"), reply: denied, refused: "wrong key", ended: true},
		"records":             {input: hello("") + frame("a", "info", "one") + frame("b", "error", ""), want: []string{`INFO a "one"`, `ERROR b ""`}, reply: accepted},
		"colons, lines":       {input: hello("") + frame("a", "warn", "x:y\n:z\r\n"), want: []string{`WARN a "x:y\n:z\r\n"`}, reply: accepted},
		"any bytes":           {input: hello("") + frame("a", "debug", "\xff\x00\x1b[2J"), want: []string{`DEBUG a "\xff\x00\x1b[2J"`}, reply: accepted},
		"fatal":               {input: hello("") + frame("a", "fatal", "x"), want: []string{`ERROR+4 a "x"`}, reply: accepted},
		"other severities":    {input: hello("") + frame("a", "Warning", "x") + frame("a", "audit", "y") + frame("a", "", "z"), want: []string{`WARN a "x" severity=String:"Warning"`, `INFO a "y" severity=String:"audit"`, `INFO a "z" severity=String:""`}, reply: accepted},
		"UTF-8 in bytes":      {input: hello("") + frame("größe", "info", "Grüße"), want: []string{`INFO größe "Grüße"`}, reply: accepted},
		"longest":             {input: hello("") + frame("a", "info", strings.Repeat("x", 8191-16)), want: []string{`INFO a "` + strings.Repeat("x", 8191-16) + `"`}, reply: accepted},
		"too long":            {input: hello("") + frame("a", "info", strings.Repeat("x", 8192-16)), reply: accepted + tooLong, refused: "too long", ended: true},
		"lengths differ":      {input: hello("") + "00190018:a:info:hello", reply: accepted + checksum, refused: "wrong length", ended: true},
		"shorter than itself": {input: hello("") + "00070007:a:info:hello", reply: accepted + checksum, refused: "wrong length", ended: true},
		"no room for colons":  {input: "00100010::", reply: checksum, refused: "wrong length", ended: true},
		"garbage":             {input: "GET / HTTP/1.1\r\n", reply: checksum, refused: "wrong length", ended: true},
		"a little garbage":    {input: "00\x00", reply: checksum, refused: "wrong length", ended: true},
		"no colons":           {input: hello("") + "00130013:abcd" + frame("a", "info", "b"), want: []string{`INFO a "b"`}, reply: accepted, refused: "no record"},
		"no first colon":      {input: hello("") + "00160016x:::::::" + frame("a", "info", "b"), want: []string{`INFO a "b"`}, reply: accepted, refused: "no record"},
		"half a head":         {input: hello("") + "0016", reply: accepted, refused: "half a frame"},
		"half a frame":        {input: hello("") + "00160016:a:in", reply: accepted, refused: "half a frame"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			protocol := &Protocol{Key: test.key}
			got := logtest.Drive(protocol, []byte(test.input))
			if !slices.Equal(got.Records, test.want) {
				t.Errorf("records:\n%q\nwant:\n%q", got.Records, test.want)
			}
			if got.Reply != test.reply || (got.Err != nil) != test.ended {
				t.Errorf("reply %q, ended with %v, want %q, %v", got.Reply, got.Err, test.reply, test.ended)
			}
			if want := map[string]int{test.refused: 1}; test.refused != "" && fmt.Sprint(got.Refused) != fmt.Sprint(want) || test.refused == "" && len(got.Refused) > 0 {
				t.Errorf("refused %v, want %q", got.Refused, test.refused)
			}
			for cut := range min(len(test.input), 200) {
				logtest.CheckWay(t, protocol, []byte(test.input), cut)
			}
		})
	}
}

// TestCharactersCountedAsBytes: Analogger's own client counts characters instead of bytes. The last byte of its frame is then read as the start
// of the next one.
func TestCharactersCountedAsBytes(t *testing.T) {
	input := hello("") + "00170017:a:info:ü" + frame("a", "info", "b")
	got := logtest.Drive(&Protocol{}, []byte(input))
	if got.Err == nil || got.Refused["wrong length"] != 1 || len(got.Records) != 1 {
		t.Errorf("got %+v, want one record, without its last byte, and an error", got)
	}
}

// TestHeads: a head with the same byte in both halves is valid only if the byte is a digit.
func TestHeads(t *testing.T) {
	for place := range 4 {
		for c := range 256 {
			half := []byte("0012")
			half[place] = byte(c)
			head := append(half, half...)
			size, ok := length(binary.LittleEndian.Uint64(head))
			want, err := strconv.ParseUint(string(half), 10, 16)
			if ok != (err == nil) || ok && size != int(want) {
				t.Errorf("%q is %d, %v, want %d, %v", half, size, ok, want, err)
			}
		}
	}
}

func TestSplitLaw(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringN(0, 300, 300))
	word := rapid.StringMatching(`[^:]{0,10}`)
	rapid.Check(t, func(rt *rapid.T) {
		input := hello("k")
		var want []string
		for range rapid.IntRange(0, 10).Draw(rt, "records") {
			service, message := word.Draw(rt, "service"), text.Draw(rt, "message")
			input += frame(service, "info", message)
			record := fmt.Sprintf("INFO %s %q", cmp.Or(service, Service), message)
			if service == "" {
				record += ` from_service=String:""`
			}
			want = append(want, record)
		}
		protocol := &Protocol{Key: "k"}
		if got := logtest.Drive(protocol, []byte(input)); !slices.Equal(got.Records, want) {
			rt.Fatalf("got %q, want %q", got.Records, want)
		}
		logtest.CheckWay(t, protocol, []byte(input), rapid.SliceOf(rapid.IntRange(0, len(input))).Draw(rt, "cuts")...)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(hello("")+frame("a", "info", "b")+frame("a", "audit", "b:c")), 20, 30)
	f.Add([]byte("00070007:a"), 1, 9)
	f.Add([]byte("9999999999999999"), 1, 9)
	f.Fuzz(func(t *testing.T, data []byte, cut, again int) {
		logtest.CheckWay(t, &Protocol{}, data, cut, again)
	})
}

func TestParseAllocatesNothing(t *testing.T) {
	input := []byte(frame("api", "info", "hello") + frame("api", "audit", "hello"))
	p := (&Protocol{}).Parser("", []byte{1})
	var batcher nowhere
	p.Parse(input, &batcher)
	if n := testing.AllocsPerRun(100, func() { p.Parse(input, &batcher) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// nowhere is a batcher that only counts records.
type nowhere struct {
	input.Batcher
	records int
}

func (n *nowhere) Add(*logs.View) { n.records++ }

func BenchmarkParse(b *testing.B) {
	one := frame("api", "info", strings.Repeat("x", 100-18))
	input := []byte(strings.Repeat(one, 600))
	p := (&Protocol{}).Parser("", []byte{1})
	var batcher nowhere
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for batcher.records < b.N {
		p.Parse(input, &batcher)
	}
}
