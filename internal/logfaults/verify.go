//go:build unix

package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

const maxShown = 20 // violations that are printed

// A proof compares the store with the ledgers.
type proof struct {
	accounts map[string]*account
	stored   map[string]int // of each process, up to which number
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

// compare reads all records, and then looks what is missing.
func (p *proof) compare(records meanwhile.Stream[logs.Record]) error {
	for r, err := range records {
		if err != nil {
			return fmt.Errorf("read the store: %w", err)
		}
		p.take(&r)
	}
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		if has, must := p.stored[name], p.accounts[name].must(); has < must {
			p.violated("%s: records %d to %d are lost, which were acknowledged", name, has+1, must)
		}
	}
	return nil
}

// take looks at one record. Those of a process are to come one after the other. Those that it has left in its spool may come
// behind those of the next process.
func (p *proof) take(r *logs.Record) {
	p.records++
	if r.Number != p.number+1 {
		p.violated("record %d of the store follows record %d", r.Number, p.number)
	}
	p.number = r.Number
	name, n, ok := parseMessage(r.Message)
	a := p.accounts[name]
	if !ok || a == nil {
		p.violated("record %d of the store is none that was logged: %.200q", r.Number, r.Message)
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

// A message says which process logged it, and its number there.
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

// clientOf returns client-1 of client-1.12, its twelfth process.
func clientOf(name string) string {
	client, _, _ := strings.Cut(name, ".")
	return client
}
