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

// Checksum returns the checksum of a part.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A Part is the size and checksum of bytes that follow a table.
type Part struct {
	Size     int64
	Checksum uint32
}

// A Layout parses the table of a frame. It returns the parts that follow, and a function to call with the offset of the first part when all parts are
// whole; or false for an invalid table, whose frame is not whole. The table is valid only until the Layout returns.
type Layout func(table []byte) (parts []Part, take func(at int64), ok bool)

// appendFrame appends the beginning of a frame, up to its parts, whose total size is body.
func appendFrame(b, table []byte, body, synced int64) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, frameMark)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(table)))
	b = binary.LittleEndian.AppendUint64(b, uint64(body))
	b = binary.LittleEndian.AppendUint64(b, uint64(synced))
	b = binary.LittleEndian.AppendUint32(b, Checksum(b[start:])^Checksum(table))
	return append(b, table...)
}

// A head is the beginning of a frame.
type head struct {
	table, body, synced int64
	sum                 uint32 // of the table
}

// parseHead parses the head of a frame. The checksum in it is right if the checksum of the table is sum.
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
