// Package docs_test proves the guides: what they show compiles, and what it prints is what they say.
//
// A block marked go in a guide is either a program, which is built, or lines that stand in a Go file which is tested or
// built as well. A block marked ruby stands in a file of the tests of the gem. A block marked output belongs to the program before it, which is
// run. A block marked with a file name, as in "go main.go", is a file of the tutorial, whose test builds and runs each step. Blocks
// that are not meant to compile are marked text.
package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A block is one fenced part of a guide.
type block struct {
	guide string
	line  int
	kind  string // the first word behind the fence
	file  string // the second one: a file of the tutorial, which its test builds
	text  string

	section string // the title above it
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.guide, b.line) }

// isProgram reports whether it is a whole program, which is built.
func (b block) isProgram() bool { return b.kind == "go" && strings.HasPrefix(b.text, "package main\n") }

func TestBlocks(t *testing.T) {
	t.Parallel()
	sources, ruby := readSources(t), readFiles(t, "../clients/ruby/test/*.rb")
	for _, guide := range guides(t) {
		blocks := readBlocks(t, guide)
		for i, b := range blocks {
			switch {
			case b.file != "" || guide == "tutorial.md" && b.kind == "output": // tutorial_test.go runs it
			case b.isProgram(): // TestPrograms runs it
			case b.kind == "go" && !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, plain(b.text)) }):
				t.Errorf("%v: no tested Go file has these lines:\n%s", b, b.text)
			case b.kind == "ruby" && !slices.ContainsFunc(ruby, func(s string) bool { return strings.Contains(s, plain(b.text)) }):
				t.Errorf("%v: no tested Ruby file has these lines:\n%s", b, b.text)
			case b.kind == "output" && (i == 0 || !blocks[i-1].isProgram()):
				t.Errorf("%v: no program stands before this output", b)
			case !slices.Contains([]string{"go", "output", "text", "sh", "python", "ruby", "yaml"}, b.kind):
				t.Errorf("%v: a block is marked %q: mark it go, output, text, sh, python, ruby or yaml", b, b.kind)
			}
		}
	}
}

// TestPrograms compiles the programs of the guides, and runs those whose output stands below them.
func TestPrograms(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	var programs []program
	for _, guide := range guides(t) {
		blocks := readBlocks(t, guide)
		for i, b := range blocks {
			if b.file != "" || !b.isProgram() {
				continue
			}
			p := program{block: b}
			if i+1 < len(blocks) && blocks[i+1].kind == "output" {
				p.output = &blocks[i+1]
			}
			programs = append(programs, p)
		}
	}
	if len(programs) < 5 {
		t.Errorf("the guides have %d programs", len(programs))
	}
	runPrograms(t, programs)
}

func TestBlocksViolations(t *testing.T) {
	sources := readSources(t)
	for _, text := range []string{"meanwhile.Run(ctx)\n", "\tpages, err := meanwhile.All(context.Background(),\n\t\tnil,\n"} {
		if slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, plain(text)) }) {
			t.Errorf("found in a source, though it is in none: %q", text)
		}
	}
}

// guides returns the paths of the guides and of README.md.
func guides(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("../README.md"); err == nil {
		paths = append(paths, "../README.md")
	}
	return paths
}

func readBlocks(t *testing.T, guide string) []block {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside, section := false, ""
	for i, line := range strings.SplitAfter(string(text), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		title, isTitle := strings.CutPrefix(line, "## ")
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			inside = true
			kind, file, _ := strings.Cut(strings.TrimSpace(fence), " ")
			blocks = append(blocks, block{guide: guide, line: i + 1, kind: kind, file: file, section: section})
		case inside:
			blocks[len(blocks)-1].text += line
		case isTitle:
			section = strings.TrimSpace(title)
		}
	}
	if inside {
		t.Errorf("%v: the block has no end", blocks[len(blocks)-1])
	}
	return blocks
}

// readSources returns the Go files that a guide may quote.
func readSources(t *testing.T) []string {
	t.Helper()
	return readFiles(t, "*_test.go", "../*_test.go", "../inspect/*_test.go", "../process/*_test.go", "../tasklog/*_test.go", "../examples/*/*.go")
}

// readFiles returns the texts of files without their indentation, but for those that quote guides themselves.
func readFiles(t *testing.T, patterns ...string) []string {
	t.Helper()
	var texts []string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if path == "docs_test.go" || path == "messages_test.go" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, plain(string(text)))
		}
	}
	return texts
}

var indent = regexp.MustCompile(`(?m)^[\t ]+`)

// plain is text without indentation, and with a line break before each line.
func plain(text string) string { return "\n" + indent.ReplaceAllString(text, "") }

// A program is a block that is complete.
type program struct {
	block
	output *block // what it prints, or nil
}

// runPrograms vets the programs in a module that requires this one, and builds and runs those with an output.
func runPrograms(t *testing.T, programs []program) {
	t.Helper()
	folder := t.TempDir()
	writeModule(t, folder)
	run := []string{"build", "-ldflags=-s -w", "-o", filepath.Join(folder, "bin") + "/"} // without what only debuggers read
	for i, p := range programs {
		name := fmt.Sprintf("program%d", i)
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name, "main.go"), []byte(p.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p.output != nil {
			run = append(run, "./"+name)
		}
	}
	for _, args := range [][]string{{"vet", "./..."}, run} {
		cmd := exec.Command("go", args...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			for i, p := range programs {
				t.Logf("program%d is %v", i, p)
			}
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	for i, p := range programs {
		if p.output == nil {
			continue
		}
		run := exec.Command(filepath.Join(folder, "bin", fmt.Sprintf("program%d", i)))
		run.Dir = t.TempDir() // for the files that it makes
		got, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", p, err, got)
		}
		if string(got) != p.output.text {
			t.Errorf("%v: got\n%s\nwant\n%s", p, got, p.output.text)
		}
	}
}

// writeModule makes a folder a module that requires this one as it is here, and what this one does.
func writeModule(t *testing.T, folder string) {
	t.Helper()
	const path = "github.com/meanwhile-go/meanwhile"
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(module), "module "+path, "module programs", 1) +
		fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %s\n", path, path, strconv.Quote(root))
	for name, text := range map[string]string{"go.mod": text, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
