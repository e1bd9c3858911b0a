package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestLanguages runs the jobs of each language separately.
func TestLanguages(t *testing.T) {
	want := map[string]string{
		"python3": `words.count  "in other words" {"words":3}, by `,
		"node":    `text.hash    "in other words" {"sha256":"ac01fd23bf651719`,
		"ruby":    `text.title   "in other words" {"title":"In Other Words"}, by `,
	}
	for _, l := range languages {
		t.Run(l.program, func(t *testing.T) {
			testenv.Program(t, l.program)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out bytes.Buffer
			if err := run(ctx, &out, []language{l}); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if !strings.Contains(out.String(), want[l.program]) || strings.Count(out.String(), "\n") != 3 {
				t.Errorf("got\n%s\nwant three lines, one of which has\n%s", &out, want[l.program])
			}
		})
	}
}

// TestInstalled checks that a language that is not installed is left out, and that this is printed.
func TestInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	if left := installed(&out); len(left) != 0 {
		t.Errorf("without a program, %d languages are left", len(left))
	}
	if want := "text.title   skipped: install ruby to run its worker\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %q in it", &out, want)
	}
}
