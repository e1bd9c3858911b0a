//go:build unix

package linefile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"pgregory.net/rapid"
)

// A fileModel is the expected content of line files, through kills, rotations and moves by others.
type fileModel struct {
	*testFile
	r       *rapid.T
	acked   [3]uint64       // of clients
	written map[string]bool // lines without a client: whether they have to be there
	next    int             // of them
	moved   int
	inodes  []uint64 // of the files, in the order in which they were made
}

var modelClients = [3]logs.Client{{1}, {2}, {3}}

// TestJournalLaw writes lines of clients, which send again what the journal does not know after a kill, and lines without a client. Each
// line of a client is there once and in order, however the process is killed; the others are there at most once, and whole if the write
// of their part was over.
func TestJournalLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newTestFile(t)
		f.policy = rapid.SampledFrom([]Sync{SyncOS, SyncOS, SyncOS, SyncInterval}).Draw(r, "policy") // a kill cannot show what SyncAlways adds
		f.conf.MaxBytes = rapid.SampledFrom([]int64{0, 60, 200}).Draw(r, "most")
		m := &fileModel{testFile: f, r: r, written: map[string]bool{}}
		f.begin()
		steps := map[string]func(*rapid.T){
			"write": func(*rapid.T) { m.take(false) },
			"kill":  func(*rapid.T) { m.take(true) },
			"sync": func(*rapid.T) {
				if err := f.target.sync(); err != nil {
					r.Fatal(err)
				}
			},
			"moved by others": func(*rapid.T) {
				if !exists(f.path) {
					return
				}
				m.moved++
				if err := os.Rename(f.path, fmt.Sprintf("%s.%d", f.path, m.moved)); err != nil {
					r.Fatal(err)
				}
				if rapid.Bool().Draw(r, "told") {
					if err := f.target.sync(); err != nil || f.target.close() != nil {
						r.Fatal(err)
					}
				}
			},
			"next journal": func(*rapid.T) {
				f.journal.mu.Lock()
				defer f.journal.mu.Unlock()
				if f.journal.file != nil {
					if err := f.journal.nextFile(); err != nil {
						r.Fatal(err)
					}
				}
			},
			"end in order": func(*rapid.T) {
				if err := f.target.sync(); err != nil || f.target.close() != nil || f.journal.Close() != nil {
					r.Fatal(err)
				}
				f.begin()
			},
		}
		r.Repeat(steps)
		f.die()
		f.begin()
		m.look()
		f.die()
		m.check()
	})
}

// take writes the lines that have gathered, of some clients and without a client. A kill may come at any moment of it.
func (m *fileModel) take(kill bool) {
	var lines []byte
	var from []Received
	last := m.acked
	var loose []string
	for range rapid.IntRange(1, 4).Draw(m.r, "parts") {
		n := rapid.IntRange(1, 3).Draw(m.r, "lines")
		if c := rapid.IntRange(0, 3).Draw(m.r, "client"); c < len(last) {
			for range n {
				last[c]++
				lines = fmt.Appendf(lines, "client %d %d\n", c, last[c])
			}
			from = append(from, Received{modelClients[c], last[c]})
			continue
		}
		for range n {
			m.next++
			line := fmt.Sprintf("nobody %d.\n", m.next)
			loose = append(loose, line)
			lines = append(lines, line...)
		}
	}
	for _, line := range loose {
		m.written[line] = false
	}
	calls := 1 << 30
	if kill {
		calls = rapid.IntRange(0, 3).Draw(m.r, "calls before")
	}
	for rest := lines; len(rest) > 0; calls-- {
		ahead := m.target.ahead
		known, size := int64(0), int64(0)
		if m.journal.file != nil {
			known = m.journal.file.Size()
		}
		if m.target.file != nil {
			size = m.target.size
		}
		opened := m.target.file
		n, err := m.target.write(m.t.Context(), rest, from)
		if err != nil {
			m.r.Fatal(err)
		}
		rest = rest[n:]
		m.look()
		if calls == 0 {
			if opened == m.target.file && n > 0 && len(m.inodes) > 0 {
				m.tear(ahead, known, size, n)
			}
			m.die()
			m.begin()
			m.wantKnown(last)
			return
		}
	}
	m.acked = last
	for _, line := range loose {
		m.written[line] = true
	}
	if kill {
		m.die()
		m.begin()
		m.wantKnown(last)
	}
}

// tear removes a part of what the last call has written to the journal and then to the file.
func (m *fileModel) tear(ahead int, known, size int64, n int) {
	now := int64(0)
	if m.journal.file != nil {
		now = m.journal.file.Size()
	}
	if m.policy == SyncOS && m.target.ahead == 0 && now > known { // the journal has it as settled by then
		now -= settledSize(m.path)
	}
	file := m.path
	if m.moved > 0 {
		if name, err := findFile(m.path, m.inodes[len(m.inodes)-1]); err == nil && name != "" {
			file = name
		}
	}
	if ahead == 0 && now > known && known > 0 && rapid.Bool().Draw(m.r, "journal torn") {
		m.truncate(m.newestJournal(), int(rapid.Int64Range(known, now-1).Draw(m.r, "known")))
		m.truncate(file, int(size))
		return
	}
	if m.journal.file != nil { // it is made with the first lines of a client
		m.truncate(m.newestJournal(), int(max(now, known)))
	}
	m.truncate(file, int(rapid.Int64Range(size, size+int64(n)).Draw(m.r, "size")))
}

// wantKnown checks what the journal knows after a kill: all or nothing of what was on its way.
func (m *fileModel) wantKnown(sent [3]uint64) {
	for i, c := range modelClients {
		last, err := m.journal.last(m.path, c)
		if err != nil || last != m.acked[i] && last != sent[i] {
			m.r.Fatalf("client %d is known up to %d, %v; it was acknowledged up to %d, and has sent up to %d", i, last, err, m.acked[i], sent[i])
		}
		m.acked[i] = last
	}
}

// look records which files exist.
func (m *fileModel) look() {
	for inode := range m.files() {
		known := false
		for _, n := range m.inodes {
			known = known || n == inode
		}
		if !known {
			m.inodes = append(m.inodes, inode)
		}
	}
}

func (m *fileModel) files() map[uint64]string {
	files := map[uint64]string{}
	for _, name := range testenv.FileNames(m.t, m.dir) {
		info, err := os.Lstat(filepath.Join(m.dir, name))
		if err != nil {
			m.r.Fatal(err)
		}
		if info.Mode().IsRegular() {
			files[inodeOf(info)] = filepath.Join(m.dir, name)
		}
	}
	return files
}

func (m *fileModel) check() {
	files := m.files()
	var last [3]uint64
	there := map[string]bool{}
	for _, inode := range m.inodes {
		for line := range bytes.Lines([]byte(m.text(files[inode]))) {
			var c int
			var n uint64
			if _, err := fmt.Sscanf(string(line), "client %d %d\n", &c, &n); err == nil {
				if n != last[c]+1 {
					m.r.Fatalf("number %d of client %d is followed by %d", last[c], c, n)
				}
				last[c] = n
				continue
			}
			_, whole := m.written[string(line)]
			if there[string(line)] || !whole && !strings.HasPrefix("nobody ", string(line[:min(7, len(line)-1)])) {
				m.r.Fatalf("the line %q is there, for the second time: %v", line, there[string(line)])
			}
			there[string(line)] = whole
		}
	}
	if last != m.acked {
		m.r.Fatalf("the files have numbers up to %v, want %v", last, m.acked)
	}
	for line, must := range m.written {
		if must && !there[line] {
			m.r.Fatalf("the line %q is missing", line)
		}
	}
}
