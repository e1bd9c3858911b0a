package segment

import (
	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// journalMagic is what files of the journal begin with.
const journalMagic = "mwlogs1\n"

// A journalFile is a file that batches of all services are appended to, a frame for each Append, and what is in it. It is used by the
// store, and by searches.
type journalFile struct {
	*journal.File

	// Guarded by Store.mu. What they hold does not change, so that a search takes a slice of it along.
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
