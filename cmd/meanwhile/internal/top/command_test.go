package top

import (
	"slices"
	"strings"
	"testing"
)

// TestNoColor: any value of NO_COLOR means no color; bubbletea supports only some values.
func TestNoColor(t *testing.T) {
	for value, want := range map[string]string{"": "NO_COLOR=", "1": "NO_COLOR=1", "yes": "NO_COLOR=1", "0": "NO_COLOR=1"} {
		t.Setenv("NO_COLOR", value)
		var got string
		for _, variable := range slices.Backward(environment()) { // the last one counts
			if strings.HasPrefix(variable, "NO_COLOR=") {
				got = variable
				break
			}
		}
		if got != want {
			t.Errorf("NO_COLOR=%q: got %q, want %q", value, got, want)
		}
	}
}
