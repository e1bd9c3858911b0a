//go:build unix

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

const maxShown = 20 // violations that are printed

// A proof compares the store, or line files, with the ledgers.
type proof struct {
	accounts map[string]*account
	stored   map[string]int // the last number that was found of each process
	number   uint64         // of the record before, in the store
	records  int

	violations []string
	hidden     int
}

func newProof(accounts map[string]*account) *proof {
	return &proof{accounts: accounts, stored: map[string]int{}}
}

func (p *proof) violated(format string, args ...any) {
	if len(p.violations) == maxShown {
		p.hidden++
		return
	}
	p.violations = append(p.violations, fmt.Sprintf(format, args...))
}

// count returns the number of violations.
func (p *proof) count() int { return len(p.violations) + p.hidden }

// compare checks all records of the store, and then which are missing.
func (p *proof) compare(records meanwhile.Stream[logs.Record]) error {
	for r, err := range records {
		if err != nil {
			return fmt.Errorf("read the store: %w", err)
		}
		if r.Number != p.number+1 {
			p.violated("record %d of the store follows record %d", r.Number, p.number)
		}
		p.number = r.Number
		p.check(fmt.Sprintf("record %d of the store", r.Number), r.Message)
	}
	p.missing()
	return nil
}

// compareLines does the same with a line file and its rotated files.
func (p *proof) compareLines(path string) error {
	begin, extension := strings.TrimSuffix(path, filepath.Ext(path)), filepath.Ext(path)
	names, err := filepath.Glob(begin + "-*" + extension)
	if err != nil {
		return err
	}
	// The time in their names is by a clock that jumps, so they are sorted by modification time.
	times := map[string]int64{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		times[name] = info.ModTime().UnixNano()
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(times[a], times[b]) })
	for _, name := range append(names, path) {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			what := fmt.Sprintf("line %d of %s", n, filepath.Base(name))
			fields := strings.SplitN(line, "|", 4)
			if len(fields) < 4 || !strings.HasSuffix(line, "\n") {
				p.violated("%s is not whole: %.200q", what, line)
				continue
			}
			p.check(what, strings.TrimSuffix(fields[3], "\n"))
		}
	}
	p.missing()
	return nil
}

// missing reports the acknowledged records that are not there.
func (p *proof) missing() {
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		if has, must := p.stored[name], p.accounts[name].must(); has < must {
			p.violated("%s: records %d to %d are lost, which were acknowledged", name, has+1, must)
		}
	}
}

// check checks the message of one record. The records of a process must come one after the other. Records that a process has left in its spool may
// come behind those of the next process.
func (p *proof) check(what, message string) {
	p.records++
	name, n, ok := parseMessage(message)
	a := p.accounts[name]
	if !ok || a == nil {
		p.violated("%s is none that was logged: %.200q", what, message)
		return
	}
	switch before := p.stored[name]; {
	case n <= before:
		p.violated("%s: record %d is there again, after %d", name, n, before)
		return
	case n > before+1 && before < a.must():
		p.violated("%s: record %d follows %d, though what is between them was acknowledged", name, n, before)
	case n > before+1:
		p.violated("%s: record %d follows %d", name, n, before)
	case n > a.intended:
		p.violated("%s: record %d was never logged", name, n)
	}
	p.stored[name] = n
}

// appendMessage appends a message that has the name of the process and the number of the record there.
func appendMessage(b []byte, name string, n int) []byte {
	b = append(append(append(b, name...), " record "...), strconv.Itoa(n)...)
	return append(b, " of a client that may be killed at any moment"...)
}

func parseMessage(message string) (name string, n int, ok bool) {
	name, rest, ok := strings.Cut(message, " record ")
	if !ok {
		return "", 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	return name, n, err == nil && bytes.Equal(appendMessage(nil, name, n), []byte(message))
}

// serviceOf returns the service of the records of a process, which is that of its client.
func serviceOf(name string) string {
	if number, err := strconv.Atoi(strings.TrimPrefix(clientOf(name), "client-")); err == nil && number%2 == 0 {
		return lineService
	}
	return service
}

// clientOf returns client-1 of client-1.12, its twelfth process.
func clientOf(name string) string {
	client, _, _ := strings.Cut(name, ".")
	return client
}
