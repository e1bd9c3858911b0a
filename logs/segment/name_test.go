package segment

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEscapeName(t *testing.T) {
	for service, want := range map[string]string{
		"api": "api", "api.v2": "api.v2", ".": "%2E", "..": "%2E.", "../../x": "%2E.%2F..%2Fx", "A": "%41", "a b": "a%20b", "%41": "%2541",
		"ö": "%C3%B6", "con": "con",
	} {
		if got := escapeName(service); got != want {
			t.Errorf("%q: got %q, want %q", service, got, want)
		}
	}
}

// A name is one element of a path, no two services share one, and short ones have the name of their service.
func TestEscapeNameLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(1, 64, 128), rapid.StringMatching(`[./%\\A]{1,128}`)).Draw(t, "service")
		got := escapeName(name)
		if !filepath.IsLocal(got) || strings.ContainsAny(got, `/\`) || len(got) > maxEscaped || got == "." {
			t.Fatalf("%q becomes %q", name, got)
		}
		if back, ok := unescapeName(got); ok && back != name {
			t.Fatalf("%q becomes %q, and that %q", name, got, back)
		} else if !ok && !strings.Contains(got, "~") {
			t.Fatalf("%q does not tell its service", got)
		}
		if other := escapeName(name + "a"); other == got {
			t.Fatalf("%q and another share %q", name, got)
		}
	})
}
