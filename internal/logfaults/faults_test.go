//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// TestFaults breaks things for some seconds; all is kept that was promised.
func TestFaults(t *testing.T) {
	t.Parallel()
	out, err := prove(t, "", "-for", "8s", "-records", "20000", "-kills", "8")
	t.Log(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{allKills, serverKilled, clientKilled} {
		if !strings.Contains(out, "  "+row+"\n") {
			t.Errorf("the table has no %q", row)
		}
	}
}

// TestFaultsAreNoticed breaks the server as well, each time in one way, which has to be noticed.
func TestFaultsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	t.Parallel()
	for way, c := range map[string]struct{ only, want string }{
		"early":  {"server killed", "was acknowledged\n"},
		"forget": {"connections", "was acknowledged\n"},
		"trust":  {"clock", "was acknowledged\n"},
		"twice":  {"server killed", "is there again"},
		"lines":  {"server killed", "is there again"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			out, err := prove(t, way, "-for", "6s", "-records", "20000", "-kills", "12", "-only", c.only)
			if !errors.Is(err, errViolated) || !strings.Contains(out, c.want) {
				t.Errorf("got %v, and no %q in:\n%s", err, c.want, out)
			}
		})
	}
}

// prove runs the program with a server that is broken in some way, or not, and checks that nothing is left behind.
func prove(t *testing.T, way string, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	c, err := parse(append(args, "-seed", "1", "-dir", dir), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if c.self, err = built(way == "trust"); err != nil {
		t.Fatal(err)
	}
	c.env = []string{breakWay + "=" + way}
	c.serve = func(s *site) []string {
		return []string{s.self, "-role", "server", "-address", s.address(), "-spool", s.store()}
	}
	var out strings.Builder
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error { return c.prove(ctx, &out) })
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	return out.String(), err
}

// builds has the folder of what is built, which is removed at the end.
var builds string

// trusting is a change with which each clock is trusted.
var trusting = harm.Change{Package: module + "/internal/steady", File: "steady.go", Old: "return l.mono-c.even >= Settle", New: "return true"}

// built returns the program of these tests with a clock that can jump, and that is trusted or not.
func built(trusted bool) (string, error) { return builder[trusted]() }

var builder = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return build("right", hasty) }),
	true:  sync.OnceValues(func() (string, error) { return build("trusting", append(slices.Clip(hasty), trusting)) }),
}

func build(name string, changes []harm.Change) (string, error) {
	path := filepath.Join(builds, name)
	return path, harm.Go(context.Background(), builds, changes, "test", "-vet=off", "-c", "-o", path, ".")
}

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := parse([]string{"-for", "90s", "-seed", "7", "-kills", "0"}, nil)
	if err != nil || c.length.String() != "1m30s" || c.seed != 7 || c.clients != 4 || c.kills != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, wrong := range []string{"-for 0s", "-clients 0", "-records 3", "-kills -1", "now"} {
		var said strings.Builder
		if c, err := parse(strings.Fields(wrong), &said); err == nil || said.Len() == 0 {
			t.Errorf("%q gives %+v, %v, and says %q", wrong, c, err, said.String())
		}
	}
}
