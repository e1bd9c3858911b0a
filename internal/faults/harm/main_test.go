//go:build unix

package harm

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be a guard.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-role" {
		if err := GuardUntil(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
