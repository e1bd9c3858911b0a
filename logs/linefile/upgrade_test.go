package linefile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

// testdata/old has a file in the old format: of a.log, all is settled; b.log has two entries on their way, and is gone.
func TestJournalOfOldForm(t *testing.T) {
	f := newTestFile(t)
	if err := os.CopyFS(filepath.Join(f.dir, "journal"), os.DirFS("testdata/old")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.begin()
		for path, clients := range map[string]map[logs.Client]uint64{
			"/no/such/folder/a.log": {{1}: 5, {2}: 9},
			"/no/such/folder/b.log": {{1}: 4},
		} {
			for c, want := range clients {
				if got, err := f.journal.last(path, c); got != want || err != nil {
					t.Errorf("%s: client %d is known up to %d, %v; want %d", path, c[0], got, err, want)
				}
			}
		}
		for _, path := range f.journals() {
			if old, err := isOld(path); old || err != nil {
				t.Errorf("%s still has the old form, %v", path, err)
			}
		}
		f.die()
	}
	if !strings.Contains(f.said.String(), "a line file is not there any more") {
		t.Errorf("said: %s", f.said.String())
	}
}

// Lines that were on their way into a file when the journal had the old format are written now, wherever the file and the journal were
// torn.
func TestOldFormTorn(t *testing.T) {
	const before, lines = "line zero\n", "line one\nline two\n"
	entry := func(e *journalEntry) []byte {
		table := e.appendTable(nil)
		if e.kind == kindLines { // without size and checksum
			table = append(table[:len(table)-1-4], e.lines...)
		}
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(table)))
		return append(binary.LittleEndian.AppendUint32(b, journal.Checksum(table)), table...)
	}
	for _, cut := range []int{0, 5, len(lines)} {
		for _, missing := range []int{0, 1, 30} {
			f := newTestFile(t)
			if err := os.WriteFile(f.path, []byte(before+lines[:cut]), 0o600); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(f.path)
			if err != nil {
				t.Fatal(err)
			}
			old := []byte(upgradeMagic)
			for _, e := range []*journalEntry{
				{kind: kindKnown, path: f.path, known: map[logs.Client]journaledClient{testClient: {1, 0}}},
				{kind: kindLines, path: f.path, inode: inodeOf(info), off: int64(len(before)), received: []Received{{testClient, 3}}, lines: []byte(lines)},
			} {
				old = append(old, entry(e)...)
			}
			dir := filepath.Join(f.dir, "journal")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "000000000007.journal"), old[:len(old)-missing], 0o600); err != nil {
				t.Fatal(err)
			}
			f.begin()
			if missing > 0 { // nothing of it was in the file then
				f.want("a torn journal", before+lines[:cut])
				f.wantLast("a torn journal", 1)
			} else {
				f.want("afterwards", before+lines)
				f.wantLast("afterwards", 3)
			}
			f.die()
		}
	}
}
