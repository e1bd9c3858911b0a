package testenv

import (
	"os"
	"strings"
	"testing"
)

// TestSkipped shows at a terminal what go test does not: which tests skip on this machine. CI lists them by itself.
func TestSkipped(t *testing.T) {
	line := Skipped()
	if line == "" {
		return
	}
	if os.Getenv("MEANWHILE_CI") != "1" {
		report(line)
	}
	t.Skip(line)
}

func TestSkippedNamesWhatIsAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("MEANWHILE_LONG", "")
	t.Setenv("MEANWHILE_POSTGRES", "postgres://postgres@127.0.0.1:1/")
	got := Skipped()
	for _, want := range []string{"skipped tests: those that take long (MEANWHILE_LONG=1 runs them); ", "PostgreSQL (127.0.0.1:5432", ", redis-server, ", ", ruby,", "CONTRIBUTING.md"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "\n") {
		t.Errorf("it is more than one line: %q", got)
	}
	t.Setenv("MEANWHILE_LONG", "1")
	if got := Skipped(); strings.Contains(got, "take long") {
		t.Errorf("those that take long run, but it says %q", got)
	}
}
