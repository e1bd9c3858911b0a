package terminal

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestView draws to a file: notes are above the view, and nothing of the view is left in the end.
func TestView(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	drawn := make(chan struct{}, 1000)
	v := NewView(f, func(int) []string { drawn <- struct{}{}; return []string{"#", "123,456 done", "p50 123ms"} })
	<-drawn
	if _, err := io.WriteString(v, "a note\n"); err != nil {
		t.Error(err)
	}
	<-drawn
	v.Close()
	if _, err := io.WriteString(v, "late\n"); err == nil {
		t.Error("a closed view accepts notes")
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"123,456 done", "\x1b[3A\x1b[Ja note\n#"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if want := "\x1b[3A\x1b[J"; !strings.HasSuffix(string(text), want) {
		t.Errorf("got %q, want %q at the end", text, want)
	}
}
