package testenv

import (
	"os"
	"testing"
	"time"
)

// Await polls until a condition holds that cannot be waited for in another way. After a minute it fails the test.
func Await(t testing.TB, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatal("the condition does not hold after a minute")
		}
		<-time.After(time.Millisecond)
	}
}

// FileNames returns the names of the entries of a folder, sorted.
func FileNames(t testing.TB, dir string) (names []string) {
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
