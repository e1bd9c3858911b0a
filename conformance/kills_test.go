//go:build unix

package conformance

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var killsFor = flag.Duration("for", 5*time.Second,
	"how long TestKills kills workers and servers; from a minute on it also waits until the jobs that they ran have been run again")

// longKills is long compared to the leases of killed workers.
const longKills = time.Minute

// TestKills runs programs in Go, Node and Ruby, which push and run jobs with two servers over one store, and kills the programs and servers in turn.
// Acknowledged jobs must be stored, and each attempt must be settled once, although the Ruby program reports the end of each attempt twice, to two
// servers.
func TestKills(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) string{"sqlite": sqliteStore, "postgres": postgresStore} {
		t.Run(name, func(t *testing.T) { killAll(t, store(t)) })
	}
}

func sqliteStore(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "jobs.db") }

// postgresStore creates a database for the duration of a test.
func postgresStore(t *testing.T) string {
	server := os.Getenv("MEANWHILE_POSTGRES")
	if server == "" {
		server = "postgres://postgres@127.0.0.1:5432/postgres"
	}
	do := func(sql string) error {
		if said, err := exec.Command("psql", "-qX", "-c", sql, server).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}
	name := fmt.Sprintf("meanwhile_test_kills_%d_%d", os.Getpid(), time.Now().UnixNano())
	if err := do("create database " + name); err != nil {
		missing(t, "no PostgreSQL, or no psql: %v", err)
	}
	t.Cleanup(func() {
		if err := do("drop database " + name + " with (force)"); err != nil {
			t.Error(err)
		}
	})
	return server[:strings.LastIndex(server, "/")+1] + name
}

// killAll kills programs and servers in turn for a while, and then checks the ledger against the store.
func killAll(t *testing.T, store string) {
	l := newLedger()
	addresses := []string{free(t), free(t)}
	workers := newWorkers(t, addresses, l)
	var victims []*victim
	for i, address := range addresses {
		victims = append(victims, newServer(t, fmt.Sprint("server ", i), store, address))
	}
	victims = append(victims, workers...)
	for _, v := range victims {
		v.start()
	}
	l.awaitAll(t, workers)
	kills := 0
	for end := time.Now().Add(*killsFor); kills < len(victims) || time.Now().Before(end); kills++ {
		v := victims[kills%len(victims)]
		v.kill()
		v.start()
		l.awaitAll(t, workers)
	}
	for _, w := range workers {
		w.produceNoMore()
	}
	all := *killsFor >= longKills
	drain(t, store, dial(t, addresses[0], ""), all)
	for _, w := range workers {
		w.stop()
	}
	l.check(t, listed(t, store), kills, all)
}

// newServer returns a server for clients of Faktory as a victim.
func newServer(t *testing.T, name, store, address string) *victim {
	program, err := buildMeanwhile()
	if err != nil {
		t.Fatal(err)
	}
	return newVictim(t, name, address, nil, func(int) *exec.Cmd {
		cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--concurrency", "0", "--faktory", address, "--migrate", "--store", store)
		cmd.Env = append(os.Environ(), "MEANWHILE_FAKTORY_PASSWORD="+password)
		return cmd
	})
}

// newWorkers returns the client programs as victims. They connect to another server each time they start.
func newWorkers(t *testing.T, addresses []string, l *ledger) (workers []*victim) {
	folder := os.Getenv("MEANWHILE_FAKTORY_NODE")
	if folder == "" {
		missing(t, "MEANWHILE_FAKTORY_NODE names no folder with the Node client")
	}
	goProgram, err := buildLedger()
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, address := range addresses {
		urls = append(urls, (&url.URL{Scheme: "tcp", User: url.UserPassword("", password), Host: address}).String())
	}
	for i, language := range []struct {
		name    string
		command []string
	}{{"Go", []string{goProgram}}, {"Node", []string{"node", "ledger/ledger.js"}}, {"Ruby", []string{"ruby", "ledger/ledger.rb"}}} {
		name, command := language.name, language.command
		if _, err := exec.LookPath(command[0]); err != nil {
			missing(t, "no %s: %v", name, err)
		}
		note := func(line string) { l.note(name, line) }
		workers = append(workers, newVictim(t, name, "", note, func(starts int) *exec.Cmd {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "FAKTORY_URL="+urls[(starts+i)%len(urls)], "FAKTORY_URLS="+strings.Join(urls, " "),
				"NODE_PATH="+filepath.Join(folder, "node_modules"))
			return cmd
		}))
	}
	return workers
}

// drain returns when no job is queued; with all, when all have finished, which includes waiting for leases to end.
func drain(t *testing.T, store string, p *peer, all bool) {
	t.Helper()
	states := []string{"queued"}
	if all {
		states = append(states, "running")
	}
	for end := time.Now().Add(10 * patience); ; time.Sleep(200 * time.Millisecond) {
		p.ask(`MUTATE {"cmd":"requeue","target":"retries"}`)
		left := listed(t, store, states...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d jobs are left, such as %+v", len(left), left[0])
			return
		}
	}
}

// check compares what the programs have reported with the jobs of the store. Jobs of killed workers may still be running, unless all must have
// finished.
func (l *ledger) check(t *testing.T, jobs []stored, kills int, all bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	left, stored := 0, map[string]int{}
	for _, j := range jobs {
		stored[j.Meta.JID]++
		if j.State != "completed" {
			left++
		}
		for _, wrong := range l.wrong(j, all) {
			t.Errorf("%s: %s: %+v", j.Meta.JID, wrong, j)
		}
	}
	for jid := range l.seen["pushed"] {
		if stored[jid] != 1 {
			t.Errorf("the push of %s was acknowledged, and there are %d such jobs", jid, stored[jid])
		}
	}
	if most := kills * workersAtOnce; left > most {
		t.Errorf("%d jobs have not completed; after %d kills want at most %d", left, kills, most)
	}
	if len(l.seen["failed"]) == 0 || len(l.seen["acked"]) == 0 {
		t.Errorf("%d attempts failed and %d were acknowledged, want some of both", len(l.seen["failed"]), len(l.seen["acked"]))
	}
	t.Logf("%d kills; of %d jobs %d had their push acknowledged, %d are left; started by %v", kills, len(jobs), len(l.seen["pushed"]), left, l.begun)
}

// workersAtOnce is the number of jobs that all programs together run concurrently.
const workersAtOnce = 12

// wrong returns the contradictions between a job and what the programs have reported about it.
func (l *ledger) wrong(j stored, all bool) (wrong []string) {
	is := func(broken bool, format string, args ...any) {
		if broken {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	seen := func(what string) int { return l.seen[what][j.Meta.JID] }
	failures := 0
	for _, f := range j.Failures {
		if strings.HasPrefix(f.Error, "Ledger: ") {
			failures++
		}
	}
	completed := j.State == "completed"
	is(!completed && (all || !slices.Contains([]string{"queued", "running"}, j.State)), "it has not completed")
	is(!completed && seen("acked") > 0 && j.Died+j.Released == 0, "its success was acknowledged, and is lost")
	is(completed && seen("began") == 0, "it has completed, and nobody ran it")
	is(seen("began") > j.Attempt, "it was run %d times in %d attempts", seen("began"), j.Attempt)
	is(failures < seen("failed") || failures > seen("failing"), "%d failures were acknowledged of %d that were reported, twice each; it has %d",
		seen("failed"), seen("failing"), failures)
	return wrong
}
