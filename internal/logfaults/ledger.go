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

// The words of a ledger, each with the number of the last record that it covers. Each process numbers its records from 1.
const (
	intends      = "intends"      // to log records
	logged       = "logged"       // them: the handler has returned
	acknowledged = "acknowledged" // Flush has returned
	closed       = "closed"       // Close has returned, so that the rest is acknowledged or in the spool
)

// A ledger is the file to which one process writes what it does. Each line is one write, so that it is there even if the process is killed right
// after.
type ledger struct{ file *os.File }

func openLedger(name string) (*ledger, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &ledger{file}, nil
}

// write adds a line. It panics if it cannot, since an incomplete ledger proves nothing.
func (l *ledger) write(word string, n int) {
	if _, err := l.file.WriteString(word + " " + strconv.Itoa(n) + "\n"); err != nil {
		panic(fmt.Sprintf("logfaults: write ledger: %v: free the disk that it is on", err))
	}
}

// An account has the last number of each word in a ledger.
type account struct{ intended, logged, acknowledged, closed int }

// must returns the number up to which the records must have been stored.
func (a account) must() int { return max(a.acknowledged, a.closed) }

// readLedgers returns the accounts of the ledgers in a folder, by process. The last line of a ledger may be torn.
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
