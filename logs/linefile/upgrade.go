package linefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// Until the journal had the form that it shares with that of the store, its files began with upgradeMagic, and had for each entry its
// length, its checksum, and its table with the lines themselves at the end. They are read once, when the journal is opened: the file that is
// begun then has all that was known, and they are removed.
const upgradeMagic = "mwlines1"

// isOld reports whether a file of the journal has the old form.
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

// readOld reports each entry of a file of the old form to take, up to the first that is not whole, and returns how many bytes follow that.
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
