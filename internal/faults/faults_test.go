//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestFaults injects faults for some seconds and finds no violation.
func TestFaults(t *testing.T) {
	onEachStore(t, func(t *testing.T, store string) {
		rows := []string{"in all", countAcknowledged, countTicks, countExecutions, countFollowed, countLimited, countHolds, countDealt, countSweeps}
		untilAllHappened(t, func() []string {
			out, err := prove(t, "", "-store", store, "-for", "12s")
			t.Log(out)
			if err != nil {
				t.Fatal(err)
			}
			rows = notCounted(t, out, rows)
			return rows
		})
	})
}

// onEachStore runs a test that takes long on all stores in parallel.
func onEachStore(t *testing.T, test func(t *testing.T, store string)) {
	testenv.LongTest(t)
	t.Parallel()
	for _, store := range []string{"sqlite", "postgres", "redis"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			switch store {
			case "postgres":
				needServer(t)
			case "redis":
				testenv.Program(t, "redis-server")
			}
			test(t, store)
		})
	}
}

// untilAllHappened repeats run, which returns the events that have not happened yet, until there are none. On a busy machine few events happen in the
// seconds that a run takes. It fails the test after five runs.
func untilAllHappened(t *testing.T, run func() (missing []string)) {
	t.Helper()
	var missing []string
	for range 5 {
		if missing = run(); len(missing) == 0 {
			return
		}
	}
	t.Errorf("after five runs nothing was counted for %q", missing)
}

// notCounted returns the rows whose count in the table is zero.
func notCounted(t *testing.T, out string, rows []string) []string {
	t.Helper()
	return slices.DeleteFunc(rows, func(row string) bool { return figure(t, out, row) > 0 })
}

func needServer(t *testing.T) {
	t.Helper()
	if _, err := findServer(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// TestFaultsAreNoticed runs the program with one defect in the store at a time. Each defect must be reported as a violation.
func TestFaultsAreNoticed(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	for defect, c := range map[string]struct{ only, want string }{
		"forget": {"worker", "was acknowledged"},
		"fence":  {"worker", "which had lost it|was queued again by"},
		"twice":  {"worker", "was begun twice"},
		"keys":   {"worker", "with the unique key"},
		"ticks":  {"worker", "has no job"},
		"chains": {"worker", "jobs follow it"},
		"lanes":  {"worker", "did not match its jobs"},
		"limits": {"worker", "jobs of queue bounded ran at|of queue paced started at|had begun|ran at"},
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			out, err := prove(t, defect, "-store", "sqlite", "-for", "6s", "-only", c.only, "-rate", "300")
			if !errors.Is(err, errViolated) || !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("got %v, and no %q in:\n%s", err, c.want, out)
			}
		})
	}
}

// TestWrongClocksAreNoticed builds workers whose cron uses their own clock instead of the store's. A tick without a job must be reported.
func TestWrongClocksAreNoticed(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	needServer(t)
	own := harm.Change{Package: "github.com/meanwhile-go/meanwhile/job", File: "ticker.go", Old: "now := r.clock.at(begun)", New: "now := begun"}
	out, err := proveChanged(t, []harm.Change{own}, haveClocksJump, "", "-store", "postgres")
	if !errors.Is(err, errViolated) || !strings.Contains(out, "has no job") {
		t.Errorf("got %v, and no tick without a job in:\n%s", err, out)
	}
}

// haveClocksJump sets the clocks of all workers an hour ahead until the cron has ticked by one of these clocks.
func haveClocksJump(ctx context.Context, _ *round, store job.Store, workers, _ []*harm.Process) error {
	for _, w := range workers {
		if err := w.Clock.Jump(time.Hour, time.Hour); err != nil {
			return err
		}
	}
	for begun := time.Now(); ; {
		last, err := lastTick(ctx, store)
		if err != nil {
			return err
		}
		if last > time.Now().Add(time.Minute).Unix() {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			return errors.New("the cron does not tick by a clock that is wrong")
		}
		if err := meanwhile.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	var errs []error
	for _, w := range workers {
		errs = append(errs, w.Clock.Reset())
	}
	return errors.Join(errs...)
}

// prove runs the program, with a defect in the store unless that is empty, and checks that no files are left behind.
func prove(t *testing.T, defect string, args ...string) (string, error) {
	t.Helper()
	return proveChanged(t, nil, nil, defect, args...)
}

type drive = func(ctx context.Context, o *round, store job.Store, workers, enqueuers []*harm.Process) error

func proveChanged(t *testing.T, changes []harm.Change, drive drive, defect string, args ...string) (string, error) {
	t.Helper()
	return proveBy(t, func(c *config) {
		c.env, c.drive = []string{breakWay + "=" + defect}, drive
		if c.store != "sqlite" && c.losses == "" {
			c.self = filepath.Join(c.dir, "program")
			if err := harm.Go(t.Context(), t.TempDir(), changes, []string{"test", "-vet=off", "-c", "-o", c.self}, "."); err != nil {
				t.Fatal(err)
			}
		}
	}, args...)
}

// proveBy runs the program with the config that set has changed, in a temporary folder that is deleted afterwards.
func proveBy(t *testing.T, set func(c *config), args ...string) (string, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "faults-test-*") // not t.TempDir, which the user of the PostgreSQL server cannot enter
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
	set(&c)
	var out strings.Builder
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error { return c.prove(ctx, &out) })
	if left, _ := filepath.Glob(filepath.Join(dir, "faults-*")); len(left) > 0 {
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
