package inspect_test

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// needExact skips a test of what can be known only where it is known which goroutine runs which task.
func needExact(t *testing.T) {
	t.Helper()
	if !goroutine.Exact {
		t.Skip("goroutines are known by the names of their tasks alone: it is a build with the tag meanwhile_nolinkname, or by another version of Go")
	}
}
