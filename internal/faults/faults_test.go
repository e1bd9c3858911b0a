//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// TestFaults breaks things for some seconds; all is kept that was promised.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			if _, err := findServer(); store == "postgres" && err != nil {
				if os.Getenv("MEANWHILE_CI") == "1" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			out, err := prove(t, "", "-store", store, "-for", "10s")
			t.Log(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, least := range []string{"in all", countAcknowledged, countTicks, countExecutions} {
				if figure(t, out, least) == 0 {
					t.Errorf("the table has no %s", least)
				}
			}
		})
	}
}

// TestFaultsAreNoticed breaks the store as well, each time in one way, which has to be noticed.
func TestFaultsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	t.Parallel()
	for way, c := range map[string]struct{ only, want string }{
		"forget": {"worker", "was acknowledged"},
		"fence":  {"worker", "which had lost it|was queued again by"},
		"twice":  {"worker", "was begun twice"},
		"keys":   {"worker", "with the unique key"},
		"ticks":  {"worker", "has no job"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			out, err := prove(t, way, "-store", "sqlite", "-for", "6s", "-only", c.only, "-rate", "300")
			if !errors.Is(err, errViolated) || !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("got %v, and no %q in:\n%s", err, c.want, out)
			}
		})
	}
}

// prove runs the program with a store that is broken in some way, or not, and checks that nothing is left behind.
func prove(t *testing.T, way string, args ...string) (string, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "faults-test-*") // not t.TempDir, which is closed to the user of the server
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := parse(append(args, "-lease", "1s", "-seed", "1", "-dir", dir), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	c.env = []string{breakWay + "=" + way}
	var out strings.Builder
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error { return c.prove(ctx, &out) })
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	return out.String(), err
}

// figure returns the number in a row of the table.
func figure(t *testing.T, out, what string) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ *(\d+)  ` + regexp.QuoteMeta(what) + `$`).FindStringSubmatch(out)
	if found == nil {
		t.Errorf("the table has no %q:\n%s", what, out)
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", what, err))
	}
	return n
}
