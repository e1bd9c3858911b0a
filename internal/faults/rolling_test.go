//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

var before = flag.String("before", "", "the `commit` whose program TestRollingDeployment runs beside today's; the oldest one that can work with today's tables by default")

// firstComparable is the first commit at which this program has queues with limits, and a ledger that the current program can read.
const firstComparable = "ef2d50078260"

// phase is the length of each step of a deployment, during which processes are killed, and stopped for longer than their leases.
const phase = 3 * time.Second

// TestRollingDeployment runs processes of an earlier build and of today's on one store, with limits and limit keys, and kills them. The steps are:
// the earlier build with its own tables; the earlier build with today's tables; both builds together; today's build alone; and, as after a rollback,
// the earlier build with today's tables. No job is lost or duplicated, no limit is exceeded, and jobs that must run in order do.
func TestRollingDeployment(t *testing.T) {
	onEachStore(t, func(t *testing.T, store string) {
		commit, version := findBefore(t, store)
		before := filepath.Join(t.TempDir(), "before")
		buildCommit(t, commit, before)
		rows := []string{"in all", countAcknowledged, countFollowed, countLimited, countHolds, countDealt, countSweeps}
		untilAllHappened(t, func() []string {
			d := &deployment{before: before, today: executable(t), version: version}
			out, err := proveBy(t, func(c *config) {
				c.lease = 2 * time.Second // the first claim of a process may take long
				c.self, c.prepare, c.program, c.drive = d.today, d.migrateDown, d.choose, d.drive
			}, "-store", store)
			t.Logf("beside %s\n%s", commit, out)
			if err != nil {
				t.Fatal(err)
			}
			rows = notCounted(t, out, rows)
			missing := slices.Clone(rows)
			for _, build := range []string{d.before, d.today} {
				for _, l := range limitedQueues {
					if d.done[worked{build, l.name}] == 0 {
						missing = append(missing, fmt.Sprintf("jobs of queue %s that the build %s has ended", l.name, filepath.Base(build)))
					}
				}
			}
			return missing
		})
	})
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// findBefore returns the first commit whose program works with the tables that a store has today, or the commit that the command line names, and the
// version of its own tables. It skips the test if the history of the repository is missing.
func findBefore(t *testing.T, store string) (commit string, version int) {
	t.Helper()
	if _, err := git(t, "merge-base", "--is-ancestor", firstComparable, "HEAD"); err != nil {
		t.Skipf("commit %s is not in the history, as in a shallow clone", firstComparable)
	}
	folder := "job/" + store + "/migrations"
	if commit = *before; commit == "" {
		if store == "redis" {
			commit = firstLayout(t)
		} else {
			file := filepath.Base(readableFrom(t, filepath.Join("..", "..", folder)))
			commit = first(t, "--diff-filter=A", "--", folder+"/"+file)
		}
		if _, err := git(t, "merge-base", "--is-ancestor", firstComparable, commit); err != nil {
			commit = firstComparable
		}
	}
	if store == "redis" {
		return commit, 0
	}
	return commit, latest(t, commit, folder)
}

// latest returns the version of the newest migration in a folder at a commit.
func latest(t *testing.T, commit, folder string) (version int) {
	t.Helper()
	files, err := git(t, "ls-tree", "--name-only", commit, folder+"/")
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(files) {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("migration %s at %s: %v", file, commit, err)
		}
		version = max(version, n)
	}
	return version
}

// readableFrom returns the file of the oldest migration whose program works with the tables of the newest migration.
func readableFrom(t *testing.T, folder string) string {
	t.Helper()
	all, err := migrate.Load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	from := migrate.ReadableFrom(all, migrate.Latest(all))
	i := slices.IndexFunc(all, func(m migrate.Migration) bool { return m.Version == from })
	return filepath.Join(folder, fmt.Sprintf("%04d_%s.up.sql", all[i].Version, all[i].Name))
}

// firstLayout returns the first commit with the key layout that the Redis store has today.
func firstLayout(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "job", "redis", "check.go"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "\nconst schema = "
	_, rest, found := strings.Cut(string(source), name)
	if !found {
		t.Fatalf("job/redis/check.go has no %q", name)
	}
	number, _, _ := strings.Cut(rest, "\n")
	return first(t, "-S"+strings.TrimSpace(name)+" "+number, "--", "job/redis/check.go")
}

// first returns the oldest commit that git log finds.
func first(t *testing.T, args ...string) string {
	t.Helper()
	found, err := git(t, append([]string{"log", "--reverse", "--format=%H"}, args...)...)
	commit, _, _ := strings.Cut(found, "\n")
	if err != nil || commit == "" {
		t.Fatalf("git log %q finds no commit: %v", args, err)
	}
	return commit
}

func git(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join("..", "..")}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// buildCommit builds this program as it was at a commit, but with today's go.mod and go.sum, whose modules are on this machine.
func buildCommit(t *testing.T, commit, path string) {
	t.Helper()
	folder := t.TempDir()
	sources, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join("..", ".."), "archive", "--format=tar", commit).Output()
	if err == nil {
		unpack := exec.CommandContext(t.Context(), "tar", "x", "-C", folder)
		unpack.Stdin = bytes.NewReader(sources)
		err = unpack.Run()
	}
	if err != nil {
		t.Fatalf("sources of %s: %v", commit, err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "./internal/faults")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", commit, err, out)
	}
}

// A deployment replaces the programs of processes.
type deployment struct {
	before, today string // programs
	version       int    // of the tables of the earlier build; zero for a store without tables

	mu     sync.Mutex
	stage  stage
	builds map[string]string // by the name of the start of a process
	done   map[worked]int
}

// A stage determines which build a process runs when it starts.
type stage int

const (
	allBefore stage = iota
	eachInTurn
	allToday
)

// worked is the key by which ended jobs are counted.
type worked struct{ build, queue string }

// choose returns the program for a start of a process. In the stage eachInTurn, a process switches to the other build at each start.
func (d *deployment) choose(process, start string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	build := d.before
	number, _ := strconv.Atoi(process[strings.LastIndex(process, "-")+1:])
	nth, _ := strconv.Atoi(start[strings.LastIndex(start, ".")+1:])
	if d.stage == allToday || d.stage == eachInTurn && (number+nth)%2 == 0 {
		build = d.today
	}
	if d.builds == nil {
		d.builds = map[string]string{}
	}
	d.builds[start] = build
	return build
}

func (d *deployment) migrateDown(ctx context.Context, store job.Store) error {
	if d.version == 0 {
		return nil
	}
	return store.(interface {
		MigrateTo(ctx context.Context, version int) error
	}).MigrateTo(ctx, d.version)
}

func (d *deployment) drive(ctx context.Context, o *round, store job.Store, workers, enqueuers []*harm.Process) error {
	harmAll := func() error { return o.inject(ctx, processFaults(o.lease, workers, enqueuers), phase) }
	if err := harmAll(); err != nil {
		return err
	}
	if m, is := store.(interface{ Migrate(context.Context) error }); is {
		if err := m.Migrate(ctx); err != nil {
			return err
		}
	}
	if err := harmAll(); err != nil {
		return err
	}
	for _, next := range []stage{eachInTurn, allToday, allBefore} {
		d.mu.Lock()
		d.stage = next
		d.mu.Unlock()
		for _, p := range append(enqueuers, workers...) {
			if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
			if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		if err := harmAll(); err != nil {
			return err
		}
	}
	return d.count(ctx, store)
}

// count counts the jobs that have ended in queues with limits.
func (d *deployment) count(ctx context.Context, store job.Store) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = map[worked]int{}
	for _, l := range limitedQueues {
		found, err := store.List(ctx, job.Filter{Queues: []string{l.name}, States: []job.State{job.Completed, job.Discarded}, Limit: pageSize})
		if err != nil {
			return err
		}
		for _, j := range found {
			d.done[worked{d.builds[j.Worker], l.name}]++
		}
	}
	return nil
}
