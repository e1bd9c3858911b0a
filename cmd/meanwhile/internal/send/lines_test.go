package send

import (
	"cmp"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
)

// gather writes the parts to lines, and returns the messages of the records, with the level if it is not info.
func gather(t interface{ Fatal(...any) }, l *lines, parts ...string) []string {
	var got []string
	l.take = func(v *logs.View) {
		r := v.Record()
		text := r.Message
		if r.Level != slog.LevelInfo {
			text = r.Level.String() + " " + text
		}
		for _, a := range r.Attrs {
			text += " " + a.String()
		}
		if got = append(got, text); r.Time.UnixNano() == 0 {
			t.Fatal("a record without time:", text)
		}
	}
	if l.most == 0 {
		l.most = 100
	}
	for _, part := range parts {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.close()
	return got
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 150)
	tests := map[string]struct {
		lines *lines
		input string
		want  []string
	}{
		"lines":            {input: "a\nb\r\n\nc", want: []string{"a", "b", "c"}},
		"a trace":          {input: "a\n at x\n\tat y\nb\n", want: []string{"a\n at x\n\tat y", "b"}},
		"space first":      {input: " a\n b\nc\n", want: []string{" a\n b", "c"}},
		"single":           {lines: &lines{single: true}, input: "a\n b\n", want: []string{"a", " b"}},
		"begin":            {lines: &lines{begin: regexp.MustCompile(`^\d`)}, input: "1 a\nb\n\nc\n2 d\n", want: []string{"1 a\nb\n\nc", "2 d"}},
		"level":            {lines: &lines{level: slog.LevelWarn}, input: "a\n", want: []string{"WARN a"}},
		"stream":           {lines: &lines{stream: "stderr"}, input: "a\n{}\n", want: []string{"a stream=stderr", " stream=stderr"}},
		"JSON":             {input: "a\n{\"level\":\"error\",\"msg\":\"b\",\"n\":1}\n x\n", want: []string{"a", "ERROR b n=1", " x"}},
		"JSON, no level":   {lines: &lines{level: slog.LevelWarn}, input: "{\"msg\":\"b\"}\n", want: []string{"WARN b"}},
		"JSON as text":     {lines: &lines{text: true}, input: "{\"msg\":\"b\"}\n", want: []string{`{"msg":"b"}`}},
		"no JSON":          {input: "{b\n", want: []string{"{b"}},
		"long":             {input: long + "\na\n", want: []string{long[:100] + " [cut: 50 bytes more]", "a"}},
		"long JSON":        {input: "{\"m\":\"" + long + "\"}\na\n", want: []string{"{\"m\":\"" + long[:94] + " [cut: 58 bytes more]", "a"}},
		"long trace":       {input: "a\n " + long + "\n b\n", want: []string{"a\n " + long[:97] + " [cut: 56 bytes more]"}},
		"long, and longer": {input: long + "\n b\n", want: []string{long[:100] + " [cut: 53 bytes more]"}},
		"nothing":          {input: "\n\n", want: nil},
		"any bytes":        {input: "\xff\x00\x1b\n", want: []string{"\xff\x00\x1b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := gather(t, cmp.Or(test.lines, &lines{}), test.input); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestLinesLaw: the records do not depend on how the input is divided.
func TestLinesLaw(t *testing.T) {
	line := rapid.OneOf(rapid.StringMatching(`[ -~]{0,20}`), rapid.Just(`{"msg":"a"}`), rapid.StringMatching(` {1,3}x{0,200}`))
	rapid.Check(t, func(t *rapid.T) {
		input := strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n")
		cut := rapid.IntRange(0, len(input)).Draw(t, "cut")
		want, got := gather(t, &lines{}, input), gather(t, &lines{}, input[:cut], input[cut:])
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestIdle: a record does not wait forever for another line.
func TestIdle(t *testing.T) {
	var got []string
	l := lines{most: 100, take: func(v *logs.View) { got = append(got, string(v.Message)) }}
	if _, err := l.Write([]byte("a\n b\nc")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, at := range []time.Duration{0, together * 2, together * 4} {
		l.idle(now.Add(at))
	}
	if !slices.Equal(got, []string{"a\n b"}) {
		t.Errorf("got %q", got)
	}
}

// TestIdleWhileLinesCome: a record is not cut while lines of it keep coming, for some seconds.
func TestIdleWhileLinesCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		l := lines{most: 10_000, take: func(v *logs.View) { got = append(got, string(v.Message)) }}
		write := func(text string) {
			if _, err := l.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			l.idle(time.Now())
		}
		write("a\n")
		for range 20 {
			write(" frame\n")
		}
		time.Sleep(together)
		l.idle(time.Now())
		if want := "a" + strings.Repeat("\n frame", 20); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
		got = nil
		begun := time.Now()
		for write("b\n"); len(got) == 0; {
			write(" frame\n")
		}
		if waited := time.Since(begun); waited < mostTogether || waited > mostTogether+time.Second {
			t.Errorf("a record that does not end was sent after %v, want %v", waited, mostTogether)
		}
	})
}
