//go:build unix

package segment_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

const victimDir = "MEANWHILE_SEGMENT_VICTIM"

// killedConfig converts journals all the time, so that a kill hits every step of that.
var killedConfig = segment.Config{JournalBytes: 30_000, Logger: quiet}

const victims, victimBatch = 4, 25

// TestMain runs the process that is killed, when the environment names its directory.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		if err := meanwhile.Run(context.Background(), func(ctx context.Context) error { return appendForever(ctx, dir) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testenv.FewerChecks(10)
	os.Exit(m.Run())
}

// appendForever appends for several clients, continuing from what the store knows of each, and prints the numbers for which Append has
// returned.
func appendForever(ctx context.Context, dir string) error {
	s, err := segment.Open(ctx, dir, killedConfig)
	if err != nil {
		return err
	}
	for i := range victims {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			client := logs.Client{byte(i + 1)}
			last, err := s.Last(ctx, client)
			for n := last + 1; err == nil; n += victimBatch {
				// Records that were sent before are sent again, in part.
				from := max(n, 6) - 5
				b := logtest.Batch(fmt.Sprint("own", i), client, from, int(n+victimBatch-from))
				if err = s.Append(ctx, b); err == nil {
					fmt.Printf("%d %d\n", i, n+victimBatch-1)
				}
			}
			return err
		})
	}
	<-ctx.Done()
	return ctx.Err()
}

// However often a process is killed: the records for which Append has returned are there once, and in order.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	var reported [victims]uint64
	for kill := range 6 {
		after := 60
		if kill%2 == 1 {
			after = 0 // at once, while it opens
		}
		kills(t, dir, after, &reported)
	}
	opened(t, dir, killedConfig, func(ctx context.Context, s *segment.Store) {
		for i, last := range reported {
			records, err := meanwhile.Collect(s.Read(ctx, fmt.Sprint("own", i), 1))
			if err != nil || uint64(len(records)) < last {
				t.Errorf("client %d: %d records of %d, %v", i, len(records), last, err)
			}
			for k, r := range records {
				if want := logtest.Message(uint64(k + 1)); r.Message != want || r.Number != uint64(k+1) {
					t.Fatalf("client %d: record %d is %d, %q", i, k+1, r.Number, r.Message)
				}
			}
		}
		testenv.Await(t, func() bool { // segments are built of the journals that are left
			stats, err := s.Services(ctx)
			if err != nil || len(stats) != victims {
				t.Fatal(stats, err)
			}
			for _, stat := range stats {
				if stat.Damaged > 0 {
					t.Fatalf("%+v", stat)
				}
			}
			return !slices.ContainsFunc(stats, func(stat storage.ServiceStats) bool { return stat.Segments == 0 })
		})
	})
}

// haveSegments reports whether each client has a segment: where files are in memory, 60 calls take less time than that.
func haveSegments(dir string) bool {
	for i := range victims {
		if names, _ := filepath.Glob(filepath.Join(dir, "services", fmt.Sprint("own", i), "*.segment")); len(names) == 0 {
			return false
		}
	}
	return true
}

// kills starts a process and kills it when it has reported some calls. Unless it is killed at once, each client has a segment by then.
func kills(t *testing.T, dir string, after int, reported *[victims]uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watch.Stop()
	lines := bufio.NewScanner(out)
	for n := 0; (n < after || after > 0 && !haveSegments(dir)) && lines.Scan(); n++ {
		report(t, lines.Text(), reported)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it said before it died, whole lines only
		report(t, lines.Text(), reported)
	}
	_ = cmd.Wait()
}

func report(t *testing.T, line string, reported *[victims]uint64) {
	t.Helper()
	client, last, _ := strings.Cut(line, " ")
	i, err := strconv.Atoi(client)
	n, err2 := strconv.ParseUint(last, 10, 64)
	if err != nil || err2 != nil || i >= victims {
		t.Fatalf("the process said %q", line)
	}
	reported[i] = max(reported[i], n)
}
