//go:build unix

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A victim is a program that is killed and restarted.
type victim struct {
	testing.TB
	name    string
	address string // that it listens on; "" for none
	note    func(line string)
	command func(starts int) *exec.Cmd
	starts  int
	log     string
	cmd     *exec.Cmd
	ended   chan error
}

// newVictim returns a victim that is not started yet; note, unless nil, is called with each line that it prints.
func newVictim(t testing.TB, name, address string, note func(line string), command func(starts int) *exec.Cmd) *victim {
	v := &victim{TB: t, name: name, address: address, note: note, command: command, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		if v.cmd != nil {
			v.kill()
		}
		if t.Failed() {
			said, _ := os.ReadFile(v.log)
			t.Logf("the last output of %s:\n%s", name, strings.ReplaceAll(string(said[max(len(said)-4000, 0):]), password, "…"))
		}
	})
	return v
}

// start starts the program and returns when it listens.
func (v *victim) start() {
	v.Helper()
	log, err := os.OpenFile(v.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		v.Fatal(err)
	}
	defer log.Close()
	v.cmd, v.ended = v.command(v.starts), make(chan error, 1)
	v.starts++
	v.cmd.Stderr = log
	printed, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		v.Fatal(err)
	}
	go func(cmd *exec.Cmd) {
		for lines := bufio.NewScanner(printed); lines.Scan(); {
			if v.note != nil {
				v.note(lines.Text())
			}
		}
		v.ended <- cmd.Wait()
	}(v.cmd)
	for end := time.Now().Add(2 * patience); v.address != ""; time.Sleep(10 * time.Millisecond) {
		if socket, err := net.Dial("tcp", v.address); err == nil {
			_ = socket.Close()
			return
		}
		if time.Now().After(end) {
			v.Fatalf("%s does not listen on %s", v.name, v.address)
		}
	}
}

func (v *victim) kill() {
	_ = v.cmd.Process.Kill()
	<-v.ended
	v.cmd = nil
}

func (v *victim) produceNoMore() { _ = v.cmd.Process.Signal(syscall.SIGUSR2) }

// stop terminates the program gracefully.
func (v *victim) stop() {
	v.Helper()
	_ = v.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-v.ended:
		if v.cmd = nil; err != nil {
			v.Errorf("%s: %v", v.name, err)
		}
	case <-time.After(2 * patience):
		v.Errorf("%s does not stop", v.name)
	}
}

// A ledger collects what the programs have reported about jobs.
type ledger struct {
	mu    sync.Mutex
	seen  map[string]map[string]int // number of reports about a job, by report and jid
	begun map[string]int            // started jobs, by program
}

func newLedger() *ledger {
	l := &ledger{seen: map[string]map[string]int{}, begun: map[string]int{}}
	for _, what := range []string{"pushed", "began", "acked", "failing", "failed"} {
		l.seen[what] = map[string]int{}
	}
	return l
}

// note records a line of a program. Other lines are ignored, since clients log to the same output.
func (l *ledger) note(program, line string) {
	what, jid, _ := strings.Cut(line, " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[what] == nil {
		return
	}
	l.seen[what][jid]++
	if what == "began" {
		l.begun[program]++
	}
}

// awaitAll returns when each of the programs has started some more jobs.
func (l *ledger) awaitAll(t testing.TB, programs []*victim) {
	t.Helper()
	const some = 5
	count := func(v *victim) int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.begun[v.name]
	}
	before := map[*victim]int{}
	for _, v := range programs {
		before[v] = count(v)
	}
	for end := time.Now().Add(4 * patience); len(before) > 0; time.Sleep(5 * time.Millisecond) {
		for v, n := range before {
			if count(v) >= n+some {
				delete(before, v)
			} else if time.Now().After(end) {
				t.Fatalf("%s starts no jobs", v.name)
			}
		}
	}
}

// A stored is a job in the JSON of the command.
type stored struct {
	State    string `json:"state"`
	Attempt  int    `json:"attempt"`
	Died     int    `json:"crashed"`
	Released int    `json:"released"`
	Worker   string `json:"worker"`
	Meta     struct {
		JID string `json:"jid"`
	} `json:"meta"`
	Failures []struct {
		Attempt int    `json:"attempt"`
		Error   string `json:"error"`
	} `json:"failures"`
}

// listed returns the jobs of a store, only those in the given states if there are any.
func listed(t testing.TB, store string, states ...string) (jobs []stored) {
	t.Helper()
	program, err := buildMeanwhile()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"jobs", "list", "--json", "--store", store}
	for _, state := range states {
		args = append(args, "--state", state)
	}
	text, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatal(fmt.Errorf("list jobs: %w", err))
	}
	for line := range bytes.Lines(text) {
		var j stored
		if err := json.Unmarshal(line, &j); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}
