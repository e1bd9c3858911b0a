package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
)

// Primary result codes of SQLite, see sqlite.org/rescode.html.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeIO         = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

// code returns the primary result code of an error, or 0 if it is not an error of SQLite.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// explain returns an error that describes what a result code means for the file.
func (s *Store) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	said := ""
	switch code(err) {
	case codeBusy:
		said = fmt.Sprintf("%s stayed locked for %v: a transaction on it, of this process or another, takes too long", s.place.path, busyTimeout)
	case codeReadOnly:
		said = s.place.path + " cannot be written: it, or its folder, is read-only"
	case codeIO:
		said = s.place.path + " cannot be read or written"
	case codeCorrupt:
		said = s.place.path + " is damaged"
	case codeFull:
		said = "there is no room for " + s.place.path + ": the disk is full, or max_page_count reached. Nothing is lost that was stored"
	case codeCantOpen:
		said = s.place.path + " cannot be opened: look at the permissions of the file and its folder"
	case codeNotADB:
		said = s.place.path + " is no SQLite database"
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %s (%w)", what, said, err)
}
