package journal

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	frameMark = 0x6d776c66
	frameHead = 4 + 4 + 8 + 8 + 4
	maxTable  = 64 << 20
	maxBody   = 1 << 40
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns that of a part.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A Part is bytes that follow a table, as the table says.
type Part struct {
	Size     int64
	Checksum uint32
}

// A Layout reads the table of a frame. It returns the parts that follow, and what to call when they are whole, with the offset of the
// first in the file; or false for a table that makes no sense, as its frame is not whole then. The table is good until it returns.
type Layout func(table []byte) (parts []Part, take func(at int64), ok bool)

// appendFrame appends a frame but for its parts, which have so many bytes.
func appendFrame(b, table []byte, body, synced int64) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, frameMark)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(table)))
	b = binary.LittleEndian.AppendUint64(b, uint64(body))
	b = binary.LittleEndian.AppendUint64(b, uint64(synced))
	b = binary.LittleEndian.AppendUint32(b, Checksum(b[start:])^Checksum(table))
	return append(b, table...)
}

// A head is what a frame begins with.
type head struct {
	table, body, synced int64
	sum                 uint32 // of the table
}

// parseHead reads the head of a frame, whose checksum is right when the table has that which it says.
func parseHead(b []byte) (h head, ok bool) {
	if len(b) < frameHead || binary.LittleEndian.Uint32(b) != frameMark {
		return head{}, false
	}
	h = head{
		table:  int64(binary.LittleEndian.Uint32(b[4:])),
		body:   int64(binary.LittleEndian.Uint64(b[8:])),
		synced: int64(binary.LittleEndian.Uint64(b[16:])),
		sum:    Checksum(b[:frameHead-4]) ^ binary.LittleEndian.Uint32(b[frameHead-4:]),
	}
	return h, h.table <= maxTable && h.body >= 0 && h.body < maxBody && h.synced >= 0
}
