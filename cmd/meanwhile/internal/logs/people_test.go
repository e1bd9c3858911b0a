package logs

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/creack/pty"
	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
)

// TestNothingReachesTheTerminal: whatever a record contains, the only control characters in its printed text are line feeds and
// tabs; and each line except the first is indented.
func TestNothingReachesTheTerminal(t *testing.T) {
	hostile := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("\x1b[2J\u009b\r\n\t\x07\u202e\u2028a=\" ")), 0, 12, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		r := logs.Record{
			Time: time.Unix(1, 0), Level: slog.Level(rapid.Int32().Draw(t, "level")), Service: hostile.Draw(t, "service"), Message: hostile.Draw(t, "message"),
			Task: hostile.Draw(t, "task"), Job: hostile.Draw(t, "job"), Attrs: []slog.Attr{slog.String(hostile.Draw(t, "key"), hostile.Draw(t, "value"))},
		}
		template, err := newTemplate("{{.Service}} {{.Message}} {{.Task}} {{.Job}} {{.Attrs}} {{.JSON}}", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		people := (&people{zone: time.UTC}).append(nil, &r)
		printed, err := template.append(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range [][]byte{people, printed, r.AppendJSON(nil)} {
			for _, c := range string(out) {
				if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)) {
					t.Fatalf("%q has %U", out, c)
				}
			}
		}
		for i, line := range strings.Split(strings.TrimSuffix(string(people), "\n"), "\n") {
			if i > 0 && line != "" && !strings.HasPrefix(line, "    ") {
				t.Fatalf("line %d of %q is not indented", i, people)
			}
		}
	})
}

func TestColors(t *testing.T) {
	r := logs.Record{Time: time.Unix(0, 0), Level: slog.LevelError, Service: "api", Message: "timed out", Attrs: []slog.Attr{slog.Int("n", 7)}}
	got := string((&people{zone: time.UTC, year: 1970, colors: true}).append(nil, &r))
	want := dim + "01-01 00:00:00.000" + plain + " " + red + "ERROR" + plain + " " + cyan + "api" + plain + "  timed out " + dim + " n=7" + plain + "\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestColorsAreForTerminals: colors are used only for terminals, and can be turned off.
func TestColorsAreForTerminals(t *testing.T) {
	controller, terminal, err := pty.Open()
	if errors.Is(err, pty.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = controller.Close(), terminal.Close() }()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	t.Setenv("NO_COLOR", "")
	if o := (&Output{}); !o.colors(terminal) || o.colors(file) || o.colors(&strings.Builder{}) {
		t.Error("colors are missing on a terminal, or used for another output")
	}
	if (&Output{NoColor: true}).colors(terminal) {
		t.Error("--no-color has no effect")
	}
	t.Setenv("NO_COLOR", "1")
	if (&Output{}).colors(terminal) {
		t.Error("NO_COLOR has no effect")
	}
}
