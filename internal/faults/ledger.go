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
	settled  = "settled"  // an attempt: the store has taken its outcome
	removes  = "removes"  // the operator a discarded job
	retries  = "retries"  // the operator a discarded job
	repaired = "repaired" // what the store kept of a limit key
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

	// Of what starts in a queue with limits, or the operator does there. Times are those of the store.
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

// String tells what a line says, but for when.
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

// A ledger is what one process writes down, a line with one write each, so that what was written is there even if the process
// is killed right after.
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

// write adds a line. A ledger that cannot be written proves nothing: it panics.
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

// readLedgers calls f with each line of the ledgers of a folder, those of one process in order. The last line of a process
// may be torn; any other that is no entry, or not in sequence, is an error.
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
