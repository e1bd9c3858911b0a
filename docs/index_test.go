package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIndex finds each guide in the index of the guides, and the index in README.md.
func TestIndex(t *testing.T) {
	testIndex(t, "README.md", "*.md")
	testIndex(t, "../README.md", "../docs/README.md")
}

// TestIndexOfExamples finds each example in the index of the examples. All of them are programs in Go.
func TestIndexOfExamples(t *testing.T) {
	testIndex(t, "../examples/README.md", "../examples/*/main.go")
	folders, err := os.ReadDir("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		if _, err := os.Stat(filepath.Join("../examples", folder.Name(), "main.go")); err != nil {
			t.Errorf("examples/%s does not run by go run: %v", folder.Name(), err)
		}
	}
}

// testIndex fails for each file that an index does not link to.
func testIndex(t *testing.T, index, pattern string) {
	t.Helper()
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		target, err := filepath.Rel(filepath.Dir(index), path)
		if err != nil {
			t.Fatal(err)
		}
		if target = filepath.ToSlash(target); path != index && !strings.Contains(string(text), "]("+target+")") {
			t.Errorf("%s has no link to %s", index, target)
		}
	}
}
