package severity

import (
	"log/slog"
	"testing"

	"pgregory.net/rapid"
)

func TestLevel(t *testing.T) {
	tests := map[string]slog.Level{
		"debug": -4, "info": 0, "warn": 4, "error": 8, "fatal": 12, "DEBUG": -4, "Warning": 4, "WARN": 4, "err": 8,
		"emerg": 12, "ALERT": 10, "crit": 9, "notice": 1, "TRACE": -8, "informational": 0, "ERROR+2": 10, "debug-3": -7,
	}
	for word, want := range tests {
		if got, ok := Level([]byte(word)); got != want || !ok {
			t.Errorf("%s is %d, %v, want %d", word, got, ok, want)
		}
	}
	for _, word := range []string{"", "debugger", "5", "+1", "info+", "info+x", "info+1+1", "authentication", "informationally", "\xff", "info+99999"} {
		if level, ok := Level([]byte(word)); ok {
			t.Errorf("%q is %d, want no level", word, level)
		}
	}
}

// TestLevelLaw: the text that slog writes for a level is parsed as that level.
func TestLevelLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := slog.Level(rapid.IntRange(-900, 900).Draw(t, "level"))
		if got, ok := Level([]byte(want.String())); got != want || !ok {
			t.Fatalf("%v is %d, %v, want %d", want, got, ok, want)
		}
	})
}

func TestLevelAllocatesNothing(t *testing.T) {
	words := [][]byte{[]byte("info"), []byte("WARNING"), []byte("authentication")}
	if n := testing.AllocsPerRun(100, func() {
		for _, word := range words {
			Level(word)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
