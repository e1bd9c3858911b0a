package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// long makes a comment long enough for a document.
var long = strings.Repeat(" It is there to be found by those who look.", 4)

// fixture writes a small tree of packages.
func fixture(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"zoo/zoo.go": "// Package zoo has animals." + long + "\npackage zoo\n\n" +
			"// Short is left out.\nfunc Short() {}\n\n" +
			"// Open opens the [Gate].\n// The visitors come in." + long + "\n//\n//\tOpen()\nfunc Open() {}\n\n" +
			"// closed is not for others." + long + "\nfunc closed() {}\n\n" +
			"// A Gate is a way in." + long + "\ntype Gate struct{}\n\n" +
			"// NewGate makes one." + long + "\nfunc NewGate() *Gate { return nil }\n\n" +
			"// Shut shuts it." + long + "\nfunc (*Gate) Shut() {}\n",
		"zoo/zoo_windows.go":     "package zoo\n\n// Elsewhere is not on Linux." + long + "\nfunc Elsewhere() {}\n",
		"zoo/zoo_test.go":        "package zoo\n\n// Tested is of a test." + long + "\nfunc Tested() {}\n",
		"zoo/food/food.go":       "// Package food feeds <them>." + long + "\npackage food\n",
		"internal/keys/keys.go":  "// Package keys is not for others." + long + "\npackage keys\n",
		"cmd/keeper/main.go":     "// Keeper is a command." + long + "\npackage main\n",
		"zoo/testdata/broken.go": "nothing",
		"README":                 "no package is here",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func generate(t *testing.T, args ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "documents")
	if err := run(append([]string{"-o", file}, args...), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func expand(t *testing.T, text []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(lines)
}

func TestGenerate(t *testing.T) {
	got := expand(t, generate(t, "-source", fixture(t), "-n", "6"))
	want := strings.ReplaceAll(`{"package":"zoo","symbol":"","text":"Package zoo has animals. LONG"}
{"package":"zoo","symbol":"Gate","text":"A Gate is a way in. LONG"}
{"package":"zoo","symbol":"Gate.Shut","text":"Shut shuts it. LONG"}
{"package":"zoo","symbol":"NewGate","text":"NewGate makes one. LONG"}
{"package":"zoo","symbol":"Open","text":"Open opens the Gate. The visitors come in. LONG\n\n\tOpen()"}
{"package":"zoo/food","symbol":"","text":"Package food feeds <them>. LONG"}
`, "LONG", strings.TrimSpace(long))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := expand(t, generate(t, "-source", fixture(t), "-n", "3")), []string{`"symbol":""`, `"symbol":"Gate.Shut"`, `"symbol":"Open"`}; strings.Count(got, "\n") != 3 {
		t.Errorf("got %s, want three", got)
	} else {
		for _, symbol := range want {
			if !strings.Contains(got, symbol) {
				t.Errorf("%s is not among every second: %s", symbol, got)
			}
		}
	}
}

// TestDeterministic: the same bytes are written for two copies of a tree with different times and paths.
func TestDeterministic(t *testing.T) {
	if !bytes.Equal(generate(t, "-source", fixture(t), "-n", "6"), generate(t, "-source", fixture(t), "-n", "6")) {
		t.Error("two runs wrote different bytes")
	}
}

func TestGenerateRefuses(t *testing.T) {
	broken := fixture(t)
	if err := os.WriteFile(filepath.Join(broken, "zoo", "broken.go"), []byte("package zoo\nfunc {"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-source", fixture(t)}, "6 documents, fewer than 1000"},
		{[]string{"-source", filepath.Join(broken, "none")}, "none"},
		{[]string{"-source", broken}, "package zoo"},
		{[]string{"-nothing"}, "-nothing"},
	} {
		if err := run(test.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want an error with %q", test.args, err, test.want)
		}
	}
}
