package linefile

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/meanwhile-go/meanwhile/logs"
)

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

const (
	journalBegin     = "mwlines1"
	journalExtension = ".journal"
	journalFrame     = 4 + 4 // length of the entry, and its checksum

	kindLines   = 'L' // lines are to be written
	kindSettled = 'S' // all before are in the file
	kindKnown   = 'K' // what is known of the clients of a file
)

// A journalEntry is one of a [Journal].
//
//	entry   = kind, text path, and
//	lines   = inode, offset, how many numbers, client and number each, the lines to the end (L)
//	settled = nothing (S)
//	known   = how many clients, client, number and when it was heard of each (K)
//
// Numbers are varints, but for the 16 bytes of a client.
type journalEntry struct {
	kind  byte
	path  string // of the line file
	inode uint64 // of the file that has it; 0 where the system tells none
	off   int64  // where the lines begin there
	heard []Received
	lines []byte
	known map[logs.Client]journaledClient
}

// append appends the frame of the entry.
func (e *journalEntry) append(b []byte) []byte {
	begin := len(b)
	b = append(b, make([]byte, journalFrame)...)
	b = binary.AppendUvarint(append(b, e.kind), uint64(len(e.path)))
	b = append(b, e.path...)
	switch e.kind {
	case kindLines:
		b = binary.AppendUvarint(b, e.inode)
		b = binary.AppendUvarint(b, uint64(e.off))
		b = binary.AppendUvarint(b, uint64(len(e.heard)))
		for _, h := range e.heard {
			b = binary.AppendUvarint(append(b, h.Client[:]...), h.Last)
		}
		b = append(b, e.lines...)
	case kindKnown:
		b = binary.AppendUvarint(b, uint64(len(e.known)))
		for id, c := range e.known {
			b = binary.AppendUvarint(append(b, id[:]...), c.last)
			b = binary.AppendUvarint(b, uint64(c.at))
		}
	}
	body := b[begin+journalFrame:]
	binary.LittleEndian.PutUint32(b[begin:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[begin+4:], crc32.Checksum(body, castagnoliTable))
	return b
}

// parseJournal calls each with the entries of a journal, up to the first that is not whole, and returns how many bytes it
// has read. What the entries hold lies in data.
func parseJournal(data []byte, each func(e *journalEntry)) (whole int) {
	if len(data) < len(journalBegin) || string(data[:len(journalBegin)]) != journalBegin {
		return 0
	}
	for whole = len(journalBegin); ; {
		rest := data[whole:]
		if len(rest) < journalFrame {
			return whole
		}
		size, sum := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		rest = rest[journalFrame:]
		if size == 0 || uint64(size) > uint64(len(rest)) || crc32.Checksum(rest[:size], castagnoliTable) != sum {
			return whole
		}
		e := &journalEntry{}
		if !e.parse(rest[:size]) {
			return whole
		}
		each(e)
		whole += journalFrame + int(size)
	}
}

func (e *journalEntry) parse(b []byte) bool {
	e.kind = b[0]
	b, ok := b[1:], true
	number := func() (n uint64) {
		var size int
		if n, size = binary.Uvarint(b); size <= 0 {
			ok = false
			return 0
		}
		b = b[size:]
		return n
	}
	// Of each client there are 16 bytes and a number, at least.
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
		return false
	}
	switch e.kind {
	case kindLines:
		e.inode, e.off = number(), int64(number())
		for n := number(); ok && n > 0; n-- {
			e.heard = append(e.heard, Received{client(), number()})
		}
		e.lines = b
		ok = ok && e.off >= 0
	case kindSettled:
		ok = ok && len(b) == 0
	case kindKnown:
		e.known = map[logs.Client]journaledClient{}
		for n := number(); ok && n > 0; n-- {
			e.known[client()] = journaledClient{number(), int64(number())}
		}
		ok = ok && len(b) == 0
	default:
		ok = false
	}
	return ok
}
