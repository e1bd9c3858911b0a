package postgres_test

import (
	"slices"
	"strings"
	"testing"
)

// TestStrictFunctionsAreTheSame: a function with "_strict" in its name is the same as the one that is called when it fails, except for "on
// conflict do nothing". A migration that changes one of the two has to change the other.
func TestStrictFunctionsAreTheSame(t *testing.T) {
	url := database(t, server())
	open(t, url)
	pool := connect(t, url)
	words := func(name string) []string {
		t.Helper()
		var text string
		err := pool.QueryRow(t.Context(), `select replace(pg_get_functiondef(p.oid), '.' || $1 || '(', '.f(') from pg_proc p
			where p.pronamespace = 'meanwhile'::regnamespace and p.proname = $1`, name).Scan(&text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return strings.Fields(text)
	}
	for strict, other := range map[string]string{"settle_strict": "settle_alike"} {
		got, want := words(strict), words(other)
		lenient := strings.Fields("on conflict (id) do nothing")
		at := 0
		for at < len(want) && at < len(got) && got[at] == want[at] {
			at++
		}
		end := min(at+len(lenient), len(want))
		if !slices.Equal(want[at:end], lenient) || !slices.Equal(got[at:], want[end:]) {
			t.Errorf("%s differs from %s by more than %q, from here on: %q, instead of %q", strict, other, lenient, got[at:min(at+10, len(got))], want[at:end])
		}
	}
}
