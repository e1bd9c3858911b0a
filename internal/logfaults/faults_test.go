//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestFaults injects faults for some seconds and finds no violation.
func TestFaults(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	out, err := prove(t, "", nil, "-for", "15s", "-records", "200000", "-kills", "15")
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

// TestFaultsAreNoticed runs the program with one defect in the server at a time. Each defect must be reported as a violation. A function does the
// harm when the server is in a state in which it has an effect, not at random times, so that the defect is noticed on a busy machine as well.
func TestFaultsAreNoticed(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	for defect, c := range map[string]struct {
		drive func(ctx context.Context, s *site) error
		want  string
	}{
		"early":  {killAfterAcknowledgements, "was acknowledged\n"},
		"forget": {waitForAcknowledgements, "was acknowledged\n"},
		"trust":  {restartWithWrongClock, "was acknowledged\n"},
		"twice":  {killRipe, "is there again"},
		"lines":  {killRipe, "is there again"},
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			out, err := prove(t, defect, c.drive, "-for", "6s", "-records", "20000")
			if !errors.Is(err, errViolated) || !strings.Contains(out, c.want) {
				t.Errorf("got %v, and no %q in:\n%s", err, c.want, out)
			}
		})
	}
}

// killAfterAcknowledgements kills the server after clients have received some acknowledgements.
func killAfterAcknowledgements(ctx context.Context, s *site) error {
	if err := s.ripe(ctx); err != nil {
		return err
	}
	if err := waitForAcknowledgements(ctx, s); err != nil {
		return err
	}
	return s.kill(ctx, s.server, serverKilled)
}

// waitForAcknowledgements waits until another thousand records are acknowledged.
func waitForAcknowledgements(ctx context.Context, s *site) error {
	sum := func() (n int, err error) {
		accounts, err := readLedgers(s.ledgers())
		for _, a := range accounts {
			n += a.acknowledged
		}
		return n, err
	}
	before, err := sum()
	if err != nil {
		return err
	}
	return until(ctx, "acknowledgements", func() (bool, error) { n, err := sum(); return n > before+1000, err })
}

// killRipe kills the server when it reports that a kill would do harm.
func killRipe(ctx context.Context, s *site) error {
	if err := s.ripe(ctx); err != nil {
		return err
	}
	return s.kill(ctx, s.server, serverKilled)
}

// restartWithWrongClock restarts the server with a clock that is a day ahead, and waits until it has deleted what it considers old.
func restartWithWrongClock(ctx context.Context, s *site) error {
	var segments []string
	if err := until(ctx, "segments", func() (_ bool, err error) {
		segments, err = filepath.Glob(filepath.Join(s.store(), "services", service, "*.segment"))
		return len(segments) > 0, err
	}); err != nil {
		return err
	}
	if err := s.server.Clock.Jump(24*time.Hour, time.Hour); err != nil {
		return err
	}
	if err := s.kill(ctx, s.server, serverKilled); err != nil {
		return err
	}
	err := until(ctx, segments[0]+" to go", func() (bool, error) {
		_, err := os.Stat(segments[0])
		return err != nil, nil
	})
	return errors.Join(err, s.server.Clock.Reset())
}

// ripe waits until the server reports that a kill would do harm.
func (s *site) ripe(ctx context.Context) error {
	return until(ctx, "the server to be ripe", func() (bool, error) { _, err := os.Stat(ripeFile(s.store())); return err == nil, nil })
}

// until waits until so returns true.
func until(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		if err := meanwhile.Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}

// prove runs the program, with a defect in the server unless that is empty, and checks that no files are left behind.
func prove(t *testing.T, defect string, drive func(context.Context, *site) error, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	c, err := parse(append(args, "-seed", "1", "-dir", dir), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if c.self, err = built(defect == "trust"); err != nil {
		t.Fatal(err)
	}
	c.env, c.drive = []string{breakWay + "=" + defect}, drive
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

// builds is the folder of the built programs, which is removed at the end.
var builds string

// trusting is a change that makes every clock trusted.
var trusting = harm.Change{Package: module + "/internal/clockcheck", File: "clock.go", Old: "return l.mono-c.even >= TrustAfter", New: "return true"}

// built returns the program of these tests, in which clocks can jump, and are always trusted if trusted is true.
func built(trusted bool) (string, error) { return builder[trusted]() }

var builder = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return build("right", hasty) }),
	true:  sync.OnceValues(func() (string, error) { return build("trusting", append(slices.Clip(hasty), trusting)) }),
}

func build(name string, changes []harm.Change) (string, error) {
	path := filepath.Join(builds, name)
	return path, harm.Go(context.Background(), builds, changes, []string{"test", "-vet=off", "-c", "-o", path}, ".")
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
			t.Errorf("parse of %q = %+v, %v, and prints %q", wrong, c, err, said.String())
		}
	}
}
