//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/job"
)

// The words of a ledger.
const (
	intends  = "intends"  // to enqueue the jobs
	enqueued = "enqueued" // them: the store has acknowledged
	failed   = "failed"   // to enqueue them, perhaps: the store returned an error
	starts   = "starts"   // an attempt
	ends     = "ends"     // the attempt; its outcome goes to the store after this line
	settled  = "settled"  // an attempt: the store has accepted its outcome, or refused it since the lease was lost
	removes  = "removes"  // the operator is about to delete a discarded job
	retries  = "retries"  // the operator is about to retry a discarded job
	repaired = "repaired" // the state of a limit key in the store
)

// An entry is a line of a ledger.
type entry struct {
	Time int64  `json:"t"` // in nanoseconds since 1970; all processes are on one machine
	Seq  int    `json:"n"`
	What string `json:"w"`

	Batch string     `json:"batch,omitempty"`
	Jobs  []intended `json:"jobs,omitempty"` // of intends
	IDs   []job.ID   `json:"ids,omitempty"`  // of enqueued, in the order of Jobs

	ID      job.ID `json:"id,omitzero"`
	Kind    string `json:"kind,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`
	Outcome string `json:"outcome,omitempty"` // of ends: "" or the error; of settled: the kind of the event
	Tick    int64  `json:"tick,omitempty"`    // of a cron, in seconds since 1970

	// Of attempts in a queue with limits, and of what the operator does there. Times are by the clock of the store.
	Queue   string `json:"queue,omitempty"`
	Lane    string `json:"lane,omitempty"` // the limit key
	Cost    int    `json:"cost,omitempty"`
	Claimed int64  `json:"claimed,omitempty"`
	Died    int    `json:"died,omitempty"`
	Created int64  `json:"created,omitempty"`
}

type intended struct {
	ID   job.ID        `json:"id"`
	Kind string        `json:"kind"`
	Key  string        `json:"key,omitempty"`
	For  time.Duration `json:"for,omitempty"`
}

// String describes the entry without its time.
func (e entry) String() string {
	text := e.What
	if e.Batch != "" {
		text += " batch " + e.Batch
	}
	if e.Attempt > 0 {
		text += fmt.Sprintf(" attempt %d, held by %s", e.Attempt, e.Worker)
	}
	if e.Outcome != "" {
		text += ": " + e.Outcome
	}
	return text
}

// A ledger is the file to which one process writes what it does. Each line is one write, so that it is there even if the process is killed right
// after.
type ledger struct {
	mu   sync.Mutex
	file *os.File
	seq  int
}

func openLedger(name string) (*ledger, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &ledger{file: file}, nil
}

// write adds a line. It panics if it cannot, since an incomplete ledger proves nothing.
func (l *ledger) write(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq, e.Time = l.seq, harm.Now().UnixNano()
	text, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("faults: write ledger: %v: free the disk that %s is on", err, l.file.Name()))
	}
}

// readLedgers calls f with each line of the ledgers in a folder, those of one process in order. The last line of a process may be torn; any other
// line that is not an entry, or not in sequence, is an error.
func readLedgers(folder string, f func(process string, e entry)) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.ledger"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := readLedger(name, f); err != nil {
			return fmt.Errorf("read ledger %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

func readLedger(name string, f func(process string, e entry)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	process := filepath.Base(name)
	process = process[:len(process)-len(".ledger")]
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var torn error
	for n := 1; lines.Scan(); n++ {
		if torn != nil {
			return torn
		}
		var e entry
		switch err := json.Unmarshal(bytes.TrimSpace(lines.Bytes()), &e); {
		case err != nil:
			torn = fmt.Errorf("line %d: %w", n, err)
			continue
		case e.Seq != n:
			return fmt.Errorf("line %d says that it is number %d", n, e.Seq)
		}
		f(process, e)
	}
	return lines.Err()
}
