package corpus

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestDocuments(t *testing.T) {
	documents, err := Documents()
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != Size {
		t.Errorf("got %d documents, want %d", len(documents), Size)
	}
	ids, packages := map[string]bool{}, map[string]bool{}
	for _, d := range documents {
		if d.Package == "" || len(d.Text) < 100 || d.Text != strings.TrimSpace(d.Text) {
			t.Errorf("got %+v", d)
		}
		if ids[d.ID()] {
			t.Errorf("there are two documents %s", d.ID())
		}
		ids[d.ID()], packages[d.Package] = true, true
	}
	symbols := 0
	for _, d := range documents {
		if d.Symbol != "" {
			symbols++
		}
	}
	if symbols < Size*9/10 || symbols == Size || len(packages) < 100 {
		t.Errorf("got %d symbols of %d packages; want most, but not all of the documents, and packages of all kinds", symbols, len(packages))
	}
}

// TestLicense checks that Go's license is beside the documents, and that both are small.
func TestLicense(t *testing.T) {
	text, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Copyright 2009 The Go Authors.", "Redistributions of source code must retain the above copyright"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("LICENSE does not contain %q", want)
		}
	}
	if len(compressed) > 300<<10 {
		t.Errorf("the documents have %d bytes", len(compressed))
	}
}

func TestReadBroken(t *testing.T) {
	for _, text := range [][]byte{nil, []byte("{}"), compressed[:len(compressed)/2]} {
		if got, err := read(bytes.NewReader(text)); err == nil {
			t.Errorf("got %d documents of %d bytes that are broken, want an error", len(got), len(text))
		}
	}
}
