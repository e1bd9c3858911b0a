package jsonlines

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

func TestLines(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	tests := map[string]struct {
		input string
		want  string
	}{
		"slog":    {`{"time":"2026-05-04T03:02:01.123456789+02:00","level":"WARN","msg":"moved","http":{"status":301,"ok":true}}`, `2026-05-04T01:02:01.123456789Z WARN json "moved" http.status=Int64:"301" http.ok=Bool:"true"`},
		"zap":     {`{"level":"error","ts":1777863721.1234567,"caller":"a/b.go:7","msg":"no","took":0.5}`, `2026-05-04T03:02:01.1234567Z ERROR json "no" caller=String:"a/b.go:7" took=Float64:"0.5"`},
		"zerolog": {`{"level":"info","time":1777863721,"message":"hi"}`, `2026-05-04T03:02:01Z INFO json "hi"`},
		"logrus":  {`{"level":"warning","msg":"hi","time":"2026-05-04T03:02:01Z"}`, `2026-05-04T03:02:01Z WARN json "hi"`},
		"bunyan":  {`{"name":"api","hostname":"h","pid":7,"level":50,"msg":"hi","time":"2026-05-04T03:02:01.5Z","v":0}`, `2026-05-04T03:02:01.5Z ERROR api "hi" hostname=String:"h" pid=Int64:"7" v=Int64:"0"`},
		"pino":    {`{"level":30,"time":1777863721123,"pid":7,"msg":"hi"}`, `2026-05-04T03:02:01.123Z INFO json "hi" pid=Int64:"7"`},
		"ECS":     {`{"@timestamp":"2026-05-04T03:02:01.000Z","log.level":"debug","message":"hi","service":{"name":"api","version":"2"},"ecs.version":"1.6"}`, `2026-05-04T03:02:01Z DEBUG api "hi" service.version=String:"2" ecs.version=String:"1.6"`},
		"ours":    {`{"service":"api","task":"main/x","job":"17","message":"hi","attrs":{"http.status":200,"msg":"x","a":{"b":1}},"x":1}`, `INFO api "hi" task=main/x job=17 http.status=Int64:"200" msg=String:"x" a.b=Int64:"1" x=Int64:"1"`},
		"Docker":  {`{"log":"hi\n","stream":"stderr","time":"2026-05-04T03:02:01Z"}`, "2026-05-04T03:02:01Z INFO json \"hi\" stream=String:\"stderr\""},
		"journald": {
			`{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1777863721123456","__MONOTONIC_TIMESTAMP":"7","_BOOT_ID":"b","PRIORITY":"4","SYSLOG_IDENTIFIER":"sshd","_SYSTEMD_UNIT":"ssh.service","MESSAGE":"hi"}`,
			`2026-05-04T03:02:01.123456Z WARN sshd "hi" _BOOT_ID=String:"b" _SYSTEMD_UNIT=String:"ssh.service"`,
		},
		"journald, bytes":   {`{"MESSAGE":[ 27, 91,255 ],"PRIORITY":"0","_SYSTEMD_UNIT":"shop@1.service"}`, `ERROR+4 shop@1 "\x1b[\xff" _SYSTEMD_UNIT=String:"shop@1.service"`},
		"journald, strange": {`{"MESSAGE":[256],"PRIORITY":"9","__REALTIME_TIMESTAMP":"soon","SYSLOG_IDENTIFIER":"","service":"a"}`, `INFO a "" MESSAGE=Any:"[256]" PRIORITY=String:"9" __REALTIME_TIMESTAMP=String:"soon" SYSLOG_IDENTIFIER=String:""`},
		"journald, twice":   {`{"MESSAGE":["a","b"],"SYSLOG_IDENTIFIER":"x"}`, `INFO x "" MESSAGE=Any:"[\"a\",\"b\"]"`},
		"journald, large":   {`{"MESSAGE":null,"SYSLOG_IDENTIFIER":"x"}`, `INFO x "" MESSAGE=Any:"null"`},

		"nothing known":       {`{"a":1}`, `INFO json "" a=Int64:"1"`},
		"empty":               {`{ }`, `INFO json ""`},
		"twice":               {`{"msg":"a","message":"b","level":"info","severity":"error"}`, `INFO json "a" message=String:"b" severity=String:"error"`},
		"of another kind":     {`{"time":true,"level":"audit","msg":7,"service":null,"task":[1]}`, `INFO json "" time=Bool:"true" level=String:"audit" msg=Int64:"7" service=Any:"null" task=Any:"[1]"`},
		"level of slog":       {`{"level":4}`, `WARN json ""`},
		"level of bunyan's":   {`{"level":60}`, `ERROR+4 json ""`},
		"name without bunyan": {`{"name":"x","level":"info"}`, `INFO json "" name=String:"x"`},
		"escapes":             {`{"m\u0073g":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx"}`, "INFO json \"a\\\"\\\\/\\b\\f\\n\\r\\té😀\ufffdx\""},
		"numbers":             {`{"a":-1,"b":18446744073709551615,"c":1e3,"d":-0.5,"e":1e999,"f":123456789012345678901}`, `INFO json "" a=Int64:"-1" b=Uint64:"18446744073709551615" c=Float64:"1000" d=Float64:"-0.5" e=Any:"1e999" f=Float64:"1.2345678901234568e+20"`},
		"lists, no fields":    {`{"a":[1,{"b":[]}],"b":{ },"c":[]}`, `INFO json "" a=Any:"[1,{\"b\":[]}]" b=Any:"{ }" c=Any:"[]"`},
		"control characters":  {"{\"msg\":\"\x1b[2J\x00\xff\"}", `INFO json "\x1b[2J\x00\xff"`},
		"microseconds":        {`{"ts":1777863721123456}`, `2026-05-04T03:02:01.123456Z INFO json ""`},
		"nanoseconds":         {`{"ts":1777863721123456789}`, `2026-05-04T03:02:01.123456789Z INFO json ""`},
		"an exponent":         {`{"ts":1.777863721e9}`, `2026-05-04T03:02:01Z INFO json ""`},
		"before 1970":         {`{"ts":-1}`, `1969-12-31T23:59:59Z INFO json ""`},
		"too far":             {`{"ts":99999999999}`, `INFO json "" ts=Int64:"99999999999"`},
		"no date":             {`{"time":"yesterday, or the day before"}`, `INFO json "" time=String:"yesterday, or the day before"`},

		"text":         {"  hello world", `INFO json "  hello world"`},
		"an array":     {`[1,2]`, `INFO json "[1,2]"`},
		"open":         {`{"msg":"a`, `INFO json "{\"msg\":\"a"`},
		"more follows": {`{"msg":"a"} x`, `INFO json "{\"msg\":\"a\"} x"`},
		"a comma more": {`{"msg":"a",}`, `INFO json "{\"msg\":\"a\",}"`},
		"no colon":     {`{"msg" "a"}`, `INFO json "{\"msg\" \"a\"}"`},
		"bad number":   {`{"a":01}`, `INFO json "{\"a\":01}"`},
		"bad escape":   {`{"a":"\x"}`, `INFO json "{\"a\":\"\\x\"}"`},
		"too deep":     {deep, fmt.Sprintf("INFO json %q", deep)},
		"deep":         {strings.Repeat(`{"a":`, 18) + "1" + strings.Repeat("}", 18), `INFO json "" ` + strings.Repeat("a.", 15) + `a=Any:"{\"a\":{\"a\":1}}"`},
		"deep lists":   {`{"a":` + strings.Repeat(`[`, 5_000), fmt.Sprintf("INFO json %q", `{"a":`+strings.Repeat(`[`, 5_000))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			input := []byte(test.input + "\r\n\n" + test.input)
			got := logtest.Drive(&Protocol{}, input)
			if !slices.Equal(got.Records, []string{test.want, test.want}) {
				t.Errorf("got  %.1000s\nwant %.1000s", got.Records, test.want)
			}
			for cut := range min(len(input), 200) {
				logtest.CheckWay(t, &Protocol{}, input, cut)
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	long := `{"msg":"` + strings.Repeat("x", 2*MaxLine) + `"}`
	input := []byte(long + "\n{\"msg\":\"a\"}\n")
	got := logtest.Drive(&Protocol{Service: "api"}, input)
	want := []string{fmt.Sprintf(`INFO api %q cut=Bool:"true"`, long[:MaxLine]), `INFO api "a"`}
	if !slices.Equal(got.Records, want) {
		t.Errorf("got %.100q", got.Records)
	}
	for _, cut := range []int{1, MaxLine - 1, MaxLine, MaxLine + 1, 2 * MaxLine, len(long), len(long) + 1} {
		logtest.CheckWay(t, &Protocol{Service: "api"}, input, cut, cut+MaxLine)
	}
	full := `{"msg":"` + strings.Repeat("x", MaxLine-10) + `"}`
	if got := logtest.Drive(&Protocol{}, []byte(full+"\n")); len(got.Records) != 1 || strings.Contains(got.Records[0], "cut") {
		t.Errorf("got %.100q for the longest line", got.Records)
	}
}

// TestManyAttributes: attributes beyond the maximum of a record are left out and counted, so that the record can be read again.
func TestManyAttributes(t *testing.T) {
	line := `{"msg":"a"`
	for i := range 3000 {
		line += fmt.Sprintf(`,"k%d":%d`, i, i)
	}
	var d Decoder
	var v logs.View
	if err := d.Decode([]byte(line+"}"), &v); err != nil {
		t.Fatal(err)
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	attrs := v.Record().Attrs
	if len(attrs) != maxAttrs+1 || attrs[maxAttrs].Key != "logs.attributes_left_out" || attrs[maxAttrs].Value.Int64() != 3000-maxAttrs {
		t.Errorf("%d attributes, the last is %v", len(attrs), attrs[len(attrs)-1])
	}
}

// TestDecodeLaw: the output of encoding/json is decoded to the same values.
func TestDecodeLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		message := rapid.String().Draw(rt, "message")
		key := "x" + rapid.StringN(0, 50, 200).Draw(rt, "key")
		text := rapid.String().Draw(rt, "text")
		n := rapid.Int64().Draw(rt, "n")
		line, err := json.Marshal(map[string]any{"msg": message, key: map[string]any{"text": text, "n": n}})
		if err != nil {
			rt.Fatal(err)
		}
		var d Decoder
		var v logs.View
		if err := d.Decode(line, &v); err != nil {
			rt.Fatalf("%s: %v", line, err)
		}
		r := v.Record()
		if len(r.Attrs) != 2 || r.Message != message || r.Attrs[0].Key != key+".n" || r.Attrs[0].Value.Int64() != n || r.Attrs[1].Value.String() != text {
			rt.Fatalf("%s: got %s", line, logtest.Describe(&r))
		}
	})
}

// FuzzDecode: every JSON object within the limits is decoded, and no line results in a damaged record.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"time":"2026-05-04T03:02:01Z","level":"WARN","msg":"a\u00e9","http":{"status":301}}`, `{"ts":1.5e9,"level":30,"a":[{},[1]]}`,
		`{"a":-0.0e-1}`, `{"ts":-9e99,"level":-99}`, `{"\ud800":"\ud83d\ud83d"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var d Decoder
		var v logs.View
		err := d.Decode(line, &v)
		if v.Check() != nil {
			t.Errorf("%q results in a damaged record", line)
		}
		var fields map[string]any
		if want := json.Unmarshal(line, &fields); want == nil && fields != nil && err != nil && !strings.Contains(err.Error(), "too") {
			t.Errorf("%q: %v", line, err)
		}
	})
}

// TestDecodeUnknownEscape: an unknown escape is an error, also in a value that is kept as JSON.
func TestDecodeUnknownEscape(t *testing.T) {
	var d Decoder
	var v logs.View
	for _, line := range []string{`{"a":"\x"}`, `{"\x":1}`, `{"a":[{"b":"\x"}]}`, `{"a":[{"\x":1}]}`} {
		if err := d.Decode([]byte(line), &v); err == nil {
			t.Errorf("%s: got no error", line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"msg\":\"a\"}\nhello\r\n\n{\"a\":"), 5, 9)
	f.Fuzz(func(t *testing.T, data []byte, cut, again int) {
		logtest.CheckWay(t, &Protocol{}, data, cut, again)
	})
}

type nowhere struct {
	input.Batcher
	records int
}

func (n *nowhere) Add(*logs.View) { n.records++ }

const slogLine = `{"time":"2026-05-04T03:02:01.123456789Z","level":"INFO","msg":"request","service":"api","status":200}` + "\n"

func TestParseAllocatesNothing(t *testing.T) {
	p := (&Protocol{}).Parser("", nil)
	input := []byte(strings.Repeat(slogLine, 10))
	var batcher nowhere
	p.Parse(input, &batcher)
	if n := testing.AllocsPerRun(100, func() { p.Parse(input, &batcher) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParse(b *testing.B) {
	p := (&Protocol{}).Parser("", nil)
	input := []byte(strings.Repeat(slogLine, 600))
	var batcher nowhere
	b.SetBytes(int64(len(slogLine)))
	b.ReportAllocs()
	for batcher.records < b.N {
		p.Parse(input, &batcher)
	}
}
