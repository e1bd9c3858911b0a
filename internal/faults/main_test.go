//go:build unix

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary be the processes that the program starts, with the defect of the store that the environment names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-role" {
		if defect := os.Getenv(breakWay); defect != "" {
			wrapStore = breakers[defect]
		}
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := parse([]string{"-store", "postgres", "-for", "90s", "-seed", "7"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.store != "postgres" || c.length.String() != "1m30s" || c.seed != 7 || c.workers != 3 {
		t.Errorf("got %+v", c)
	}
	for _, wrong := range []string{"-store memory", "-for 0s", "-workers 0", "-lease 1ms", "-rate -5", "now", "-losses always", "-store redis -losses no"} {
		var said strings.Builder
		if c, err := parse(strings.Fields(wrong), &said); err == nil {
			t.Errorf("parse of %q = %+v, want an error", wrong, c)
		} else if said.Len() == 0 {
			t.Errorf("%q: the error %v is not printed", wrong, err)
		}
	}
	if _, err := parse([]string{"-no-such"}, new(strings.Builder)); err == nil {
		t.Error("an unknown flag is accepted")
	}
}

func TestKindsShareAll(t *testing.T) {
	t.Parallel()
	sum := 0
	for _, k := range kinds {
		sum += k.share
	}
	if sum != 1000 {
		t.Errorf("the shares add up to %d, want 1000", sum)
	}
	if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == cronKind }) {
		t.Error("no kind has the name of the jobs of the cron")
	}
}
