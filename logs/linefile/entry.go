package linefile

import (
	"encoding/binary"
	"io"

	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

// journalMagic is the beginning of each file of the journal.
const journalMagic = "mwlines2"

// The kinds of entries.
const (
	kindLines   = 'L' // lines that are going to be written to a file
	kindSettled = 'S' // all lines before are in the file
	kindKnown   = 'K' // the numbers of the clients of a file
)

// A journalEntry is a frame of a [Journal]. Its table is:
//
//	entry   = kind, text path, and
//	lines   = inode, offset, how many numbers, and of each: client, number; size and checksum of the lines (L)
//	settled = nothing (S)
//	known   = how many clients, and of each: client, number, when it was last seen (K)
//
// Numbers are varints, but for the 16 bytes of a client and the 4 of a checksum. The lines are the only part.
type journalEntry struct {
	kind     byte
	path     string // of the line file
	inode    uint64 // of the file with this path; 0 on systems without inodes
	off      int64  // where the lines begin in the file
	received []Received
	lines    []byte      // of an entry that is written
	there    storedLines // of one that was read
	known    map[logs.Client]journaledClient
}

// storedLines is the place of the lines of an entry in a journal.
type storedLines struct {
	in       io.ReaderAt
	at, size int64
}

// appendTable appends the table of the entry.
func (e *journalEntry) appendTable(b []byte) []byte {
	b = binary.AppendUvarint(append(b, e.kind), uint64(len(e.path)))
	b = append(b, e.path...)
	switch e.kind {
	case kindLines:
		b = binary.AppendUvarint(b, e.inode)
		b = binary.AppendUvarint(b, uint64(e.off))
		b = binary.AppendUvarint(b, uint64(len(e.received)))
		for _, h := range e.received {
			b = binary.AppendUvarint(append(b, h.Client[:]...), h.Last)
		}
		b = binary.AppendUvarint(b, uint64(len(e.lines)))
		b = binary.LittleEndian.AppendUint32(b, journal.Checksum(e.lines))
	case kindKnown:
		b = binary.AppendUvarint(b, uint64(len(e.known)))
		for id, c := range e.known {
			b = binary.AppendUvarint(append(b, id[:]...), c.last)
			b = binary.AppendUvarint(b, uint64(c.at))
		}
	}
	return b
}

// frame returns a frame with this entry alone.
func (e *journalEntry) frame() journal.Frame { return journal.Frame{Table: e.appendTable(nil)} }

// parseTable reads the table of an entry, with the size and checksum of its lines.
func parseTable(table []byte) (e *journalEntry, parts []journal.Part, ok bool) {
	e = &journalEntry{}
	rest, ok := e.parse(table)
	if ok && e.kind == kindLines {
		size, n := binary.Uvarint(rest)
		if n <= 0 || len(rest) != n+4 || int64(size) < 0 {
			return nil, nil, false
		}
		e.there.size = int64(size)
		return e, []journal.Part{{Size: e.there.size, Checksum: binary.LittleEndian.Uint32(rest[n:])}}, true
	}
	return e, nil, ok && len(rest) == 0
}

// parse reads an entry up to its lines, and returns what follows.
func (e *journalEntry) parse(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	e.kind = b[0]
	b, ok = b[1:], true
	number := func() (n uint64) {
		var size int
		if n, size = binary.Uvarint(b); size <= 0 {
			ok = false
			return 0
		}
		b = b[size:]
		return n
	}
	// Each client has 16 bytes and a number, at least.
	client := func() (c logs.Client) {
		if len(b) < len(c) {
			ok = false
			return c
		}
		b = b[copy(c[:], b):]
		return c
	}
	if size := number(); ok && size <= uint64(len(b)) {
		e.path, b = string(b[:size]), b[size:]
	} else {
		return nil, false
	}
	switch e.kind {
	case kindLines:
		e.inode, e.off = number(), int64(number())
		for n := number(); ok && n > 0; n-- {
			e.received = append(e.received, Received{client(), number()})
		}
		ok = ok && e.off >= 0
	case kindSettled:
	case kindKnown:
		e.known = map[logs.Client]journaledClient{}
		for n := number(); ok && n > 0; n-- {
			e.known[client()] = journaledClient{number(), int64(number())}
		}
	default:
		ok = false
	}
	return b, ok
}
