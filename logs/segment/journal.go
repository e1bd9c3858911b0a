package segment

import (
	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// journalMagic is what files of the journal begin with.
const journalMagic = "mwlogs1\n"

// A journalFile is a file of the journal, to which batches of all services are appended, a frame for each Append, with what is known of
// its content. The store uses it, and searches do.
type journalFile struct {
	*journal.File

	// Guarded by Store.mu. Their elements do not change, so a search can keep a slice of them.
	kept     int64 // size of what is on disk, or, where Append does not wait for that, written
	entries  []entry
	services map[*service]*holding
	before   uint64 // records in all journals before it, since the store was opened
	records  uint64 // in this one
	raw      int64
}

func newJournalFile(f *journal.File) *journalFile {
	return &journalFile{File: f, kept: f.Size(), services: make(map[*service]*holding)}
}
