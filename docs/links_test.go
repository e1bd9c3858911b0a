package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTables finds each line of Go in the tables of the guides for those who come from elsewhere in the tested files: it is
// in the last column.
func TestTables(t *testing.T) {
	for _, guide := range []string{"coming-from.md", "coming-from-jobs.md"} {
		testTables(t, guide)
	}
}

func testTables(t *testing.T, guide string) {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	sources := readSources(t)
	found := 0
	for i, line := range strings.Split(string(text), "\n") {
		columns := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "|") || len(columns) < 2 {
			continue
		}
		for _, text := range span.FindAllString(columns[len(columns)-1], -1) {
			found++
			want := strings.Trim(text, "`")
			if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("%s:%d: no tested Go file has %s", guide, i+1, want)
			}
		}
	}
	if found == 0 {
		t.Errorf("%s: no table has a line of Go in its last column", guide)
	}
}

var (
	span   = regexp.MustCompile("`[^`]+`")
	code   = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	link   = regexp.MustCompile(`\]\(([^)]+)\)`)
	anchor = regexp.MustCompile("[^a-z0-9 -]")
)

// TestLinks follows the links from guide to guide, to their sections, and to the examples.
func TestLinks(t *testing.T) {
	for _, guide := range append(guides(t), "../examples/README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md") {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, section, _ := strings.Cut(match[1], "#")
			target := guide
			if path != "" {
				target = filepath.Join(filepath.Dir(guide), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", guide, match[1])
			} else if section != "" && !slices.Contains(sections(t, target), section) {
				t.Errorf("%s: the link %s leads to no section", guide, match[1])
			}
		}
	}
}

func sections(t *testing.T, guide string) []string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			title = anchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			names = append(names, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return names
}

func TestEnds(t *testing.T) {
	for _, guide := range []string{"getting-started", "tutorial", "howto", "tasks", "streams", "errors", "cancellation", "testing", "shutdown", "hangs", "blocking", "coming-from", "jobs", "limits", "stores", "scale", "testing-jobs", "operations", "metrics", "dashboard", "coming-from-jobs", "rails", "demo", "logs", "logs-client", "logs-search", "logs-ways", "logs-forward"} {
		text, err := os.ReadFile(guide + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		if i := bytes.LastIndex(text, []byte("\n## ")); !bytes.HasPrefix(text[i+1:], []byte("## When things go wrong\n")) {
			t.Errorf("%s.md does not end with the section \"When things go wrong\"", guide)
		}
	}
}
