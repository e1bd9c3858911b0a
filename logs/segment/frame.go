package segment

import (
	"encoding/binary"

	"github.com/meanwhile-go/meanwhile/internal/journal"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A part is a batch on its way into a frame of the journal, or out of it. The table of a frame has for each: service, client, first, last,
// count, number, oldest, newest, codec, raw, stored, crc.
type part struct {
	entry
	name        string
	client      logs.Client
	from, until uint64 // the client's numbers
	data        []byte // what is stored; not read from a frame
}

// appendTable appends the part's line of the table.
func (p *part) appendTable(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(p.name)))
	b = append(b, p.name...)
	b = append(b, p.client[:]...)
	b = binary.AppendUvarint(b, p.from)
	b = binary.AppendUvarint(b, p.until)
	b = binary.AppendUvarint(b, uint64(p.count))
	b = binary.AppendUvarint(b, p.first)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.min))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.max))
	b = append(b, byte(p.codec))
	b = binary.AppendUvarint(b, uint64(p.raw))
	b = binary.AppendUvarint(b, uint64(p.stored))
	return binary.LittleEndian.AppendUint32(b, p.crc)
}

// parseTable reads the table of a frame. The offsets of the parts are from that of the first.
func parseTable(table []byte) (parts []part, ok bool) {
	var off int64
	for len(table) > 0 {
		r := reader{b: table, ok: true}
		p := part{name: string(r.bytes(r.uvarint()))}
		copy(p.client[:], r.bytes(uint64(len(p.client))))
		p.from, p.until = r.uvarint(), r.uvarint()
		count := r.uvarint()
		p.first = r.uvarint()
		p.min, p.max = int64(r.uint64()), int64(r.uint64())
		p.codec = codec(r.byte())
		raw, stored := r.uvarint(), r.uvarint()
		p.crc = r.uint32()
		if !r.ok || count == 0 || count > raw || raw > maxRaw || stored > 2*maxRaw || p.first == 0 || logs.CheckService(p.name) != nil {
			return nil, false
		}
		p.count, p.raw, p.stored, p.off = uint32(count), uint32(raw), uint32(stored), off
		off += int64(stored)
		parts = append(parts, p)
		table = r.b
	}
	return parts, len(parts) > 0
}

// layout returns the sizes and checksums of parts, for package journal.
func layout(parts []part) []journal.Part {
	all := make([]journal.Part, len(parts))
	for i, p := range parts {
		all[i] = journal.Part{Size: int64(p.stored), Checksum: p.crc}
	}
	return all
}
