//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The words of a ledger, each with the number up to which it holds. Numbers begin at 1 in each process.
const (
	intends      = "intends"      // to log records
	logged       = "logged"       // them: the handler has returned
	acknowledged = "acknowledged" // Flush has returned
	closed       = "closed"       // Close has returned, so that the rest is acknowledged or in the spool
)

// A ledger is what one process writes down, a line with one write each, so that what was written is there even if the process
// is killed right after.
type ledger struct{ file *os.File }

func openLedger(name string) (*ledger, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &ledger{file}, nil
}

// write adds a line. A ledger that cannot be written proves nothing: it panics.
func (l *ledger) write(word string, n int) {
	if _, err := l.file.WriteString(word + " " + strconv.Itoa(n) + "\n"); err != nil {
		panic(fmt.Sprintf("logfaults: write ledger: %v: free the disk that it is on", err))
	}
}

// An account is what a ledger says in the end.
type account struct{ intended, logged, acknowledged, closed int }

// must is up to which number the records have to be there.
func (a account) must() int { return max(a.acknowledged, a.closed) }

// readLedgers returns the accounts of a folder, by the names of the processes. A last line may be torn.
func readLedgers(folder string) (map[string]*account, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.ledger"))
	if err != nil {
		return nil, err
	}
	all := map[string]*account{}
	for _, name := range names {
		process := strings.TrimSuffix(filepath.Base(name), ".ledger")
		if all[process], err = readLedger(name); err != nil {
			return nil, fmt.Errorf("read ledger of %s: %w", process, err)
		}
	}
	return all, nil
}

func readLedger(name string) (*account, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a := &account{}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return a, nil // at the end, or torn there
		}
		word, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		to := map[string]*int{intends: &a.intended, logged: &a.logged, acknowledged: &a.acknowledged, closed: &a.closed}[word]
		if err != nil || to == nil || n < *to {
			return nil, fmt.Errorf("the line %q makes no sense", line)
		}
		*to = n
	}
}
