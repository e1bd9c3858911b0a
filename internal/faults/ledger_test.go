//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := filepath.Join(folder, "worker-1.1.ledger")
	l, err := openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	l.write(entry{What: starts, Kind: "work"})
	l.write(entry{What: ends, Kind: "work"})
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() ([]string, error) {
		var got []string
		err := readLedgers(folder, func(process string, e entry) { got = append(got, process+" "+e.What) })
		return got, err
	}
	want := []string{"worker-1.1 starts", "worker-1.1 ends"}
	if got, err := read(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{string(text) + `{"t":1,"n":3,"w":"st`, ""}, // killed while it wrote
		{`{"t":1,"n` + "\n" + string(text), "line 1"},
		{string(text) + string(text), "line 3 says that it is number 1"},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := read()
		if c.want == "" && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("with %q: got %q, %v, want %q", c.text, got, err, want)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with %q: got %v, want an error with %q", c.text, err, c.want)
		}
	}
}
