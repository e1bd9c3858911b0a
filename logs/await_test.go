package logs

import (
	"os"
	"testing"
	"time"
)

// await waits until something is so, of which nobody tells.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(end) {
			t.Fatal("it has not come about within a minute")
		}
		<-time.After(time.Millisecond)
	}
}

func dirNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
