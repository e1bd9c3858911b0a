package linefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// upgradeMagic is the beginning of the journal's files in the old format, which it had before it shared its format with the store's
// journal. They have for each entry its length, its checksum, and its table with the lines at the end. They are read once, when the
// journal is opened: the file that is started then has everything that was known, and they are removed.
const upgradeMagic = "mwlines1"

// isOld reports whether a file of the journal has the old format.
func isOld(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	begin := make([]byte, len(upgradeMagic))
	_, err = io.ReadFull(f, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(begin) == upgradeMagic, err
}

// readOld calls take with each entry of a file of the old format, up to the first one that is not whole, and returns how many bytes are
// left there.
func readOld(path string, take func(e *journalEntry)) (torn int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	rest := data[len(upgradeMagic):]
	for len(rest) >= 8 {
		size, sum := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) || journal.Checksum(rest[8:8+size]) != sum {
			break
		}
		e := &journalEntry{}
		lines, ok := e.parse(rest[8 : 8+size])
		if !ok || e.kind != kindLines && len(lines) > 0 {
			break
		}
		e.there = storedLines{bytes.NewReader(lines), 0, int64(len(lines))}
		take(e)
		rest = rest[8+size:]
	}
	return len(rest), nil
}
