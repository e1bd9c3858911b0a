//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

func TestProof(t *testing.T) {
	t.Parallel()
	accounts := map[string]*account{
		"client-1.1": {intended: 4, logged: 4, acknowledged: 2},
		"client-1.2": {intended: 3, logged: 3, acknowledged: 1, closed: 3},
		"client-2.1": {},
	}
	tests := map[string]struct {
		stored string // process and number of each record
		want   string // in the violations; empty for none
	}{
		"all":              {"1.1 1, 1.1 2, 1.1 3, 1.1 4, 1.2 1, 1.2 2, 1.2 3", ""},
		"what need not be": {"1.1 1, 1.1 2, 1.2 1, 1.2 2, 1.2 3", ""},
		"lost, flushed":    {"1.1 1, 1.2 1, 1.2 2, 1.2 3", "client-1.1: records 2 to 2 are lost"},
		"lost, closed":     {"1.1 1, 1.1 2, 1.2 1, 1.2 2", "client-1.2: records 3 to 3 are lost"},
		"lost, all":        {"", "client-1.1: records 1 to 2 are lost"},
		"twice":            {"1.1 1, 1.1 2, 1.1 2, 1.2 1, 1.2 2, 1.2 3", "client-1.1: record 2 is there again"},
		"out of order":     {"1.1 1, 1.1 3, 1.1 2, 1.2 1, 1.2 2, 1.2 3", "client-1.1: record 3 follows 1"},
		"a gap":            {"1.1 1, 1.1 2, 1.1 4, 1.2 1, 1.2 2, 1.2 3", "client-1.1: record 4 follows 2"},
		"from the spool":   {"1.1 1, 1.2 1, 1.1 2, 1.2 2, 1.2 3", ""},
		"never logged":     {"1.1 1, 1.1 2, 1.2 1, 1.2 2, 1.2 3, 2.1 1", "client-2.1: record 1 was never logged"},
		"of nobody":        {"1.1 1, 1.1 2, 1.2 1, 1.2 2, 1.2 3, 3.1 1", "none that was logged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProof(accounts)
			err := p.compare(func(yield func(logs.Record, error) bool) {
				number := uint64(0)
				if test.stored == "" {
					return
				}
				for what := range strings.SplitSeq(test.stored, ", ") {
					run, n, _ := strings.Cut(what, " ")
					number++
					message := string(appendMessage(nil, "client-"+run, int(n[0]-'0')))
					if !yield(logs.Record{Number: number, Message: message}, nil) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(p.violations, "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProofOfLines(t *testing.T) {
	t.Parallel()
	accounts := map[string]*account{"client-2.1": {intended: 3, logged: 3, acknowledged: 3}}
	line := func(n int) string {
		return "2026/05/04 03:02:01|" + lineService + "|info|" + string(appendMessage(nil, "client-2.1", n)) + "\n"
	}
	for name, test := range map[string]struct{ rotated, now, want string }{
		"all":   {line(1) + line(2), line(3), ""},
		"lost":  {line(1), line(2), "records 3 to 3 are lost"},
		"twice": {line(1) + line(2), line(2) + line(3), "record 2 is there again, after 2"},
		"torn":  {line(1) + line(2), line(3) + line(4)[:30], "line 2 of lines.log is not whole"},
		"mixed": {line(1), line(2)[:50] + line(3), "none that was logged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lines.log")
			for name, text := range map[string]string{strings.TrimSuffix(path, ".log") + "-20260504T030201.000000.log": test.rotated, path: test.now} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := newProof(accounts)
			if err := p.compareLines(path); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(p.violations, "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l, err := openLedger(filepath.Join(folder, "client-1.1.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	for i, word := range []string{intends, logged, acknowledged, intends, closed} {
		l.write(word, i+1)
	}
	if _, err := l.file.WriteString("closed 9"); err != nil { // torn
		t.Fatal(err)
	}
	got, err := readLedgers(folder)
	if want := (account{intended: 4, logged: 2, acknowledged: 3, closed: 5}); err != nil || len(got) != 1 || *got["client-1.1"] != want {
		t.Errorf("got %+v, %v; want %+v", got["client-1.1"], err, want)
	}
	for _, wrong := range []string{"intends\n", "sings 3\n", "logged 3\nlogged 2\n", "logged x\n"} {
		if err := os.WriteFile(filepath.Join(folder, "client-1.2.ledger"), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLedgers(folder); err == nil {
			t.Errorf("the ledger %q is accepted", wrong)
		}
	}
}
