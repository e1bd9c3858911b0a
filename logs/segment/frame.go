package segment

import (
	"encoding/binary"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A frame is what one Append writes to the journal, whole or not at all:
//
//	magic, size of the table, size of the rest, size of the journal that was on disk by then, crc of all this and the table
//	table: for each batch service, client, first, last, count, number, oldest, newest, codec, raw, stored, crc
//	the stored bytes of the batches
const (
	frameMagic = 0x6d776c66
	frameHead  = 28
	maxTable   = 64 << 20
)

// A part is a batch on its way into a frame, or out of it.
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

// appendFrame appends head and table of a frame; the parts' stored bytes follow it.
func appendFrame(b []byte, parts []part, kept int64) []byte {
	start := len(b)
	b = append(b, make([]byte, frameHead)...)
	var body uint64
	for i := range parts {
		b = parts[i].appendTable(b)
		body += uint64(parts[i].stored)
	}
	head, table := b[start:start+frameHead], b[start+frameHead:]
	binary.LittleEndian.PutUint32(head, frameMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(table)))
	binary.LittleEndian.PutUint64(head[8:], body)
	binary.LittleEndian.PutUint64(head[16:], uint64(kept))
	binary.LittleEndian.PutUint32(head[24:], checksum(head[:24])^checksum(table))
	return b
}

// frameSizes reads the head of a frame.
func frameSizes(head []byte) (table uint32, body uint64, kept int64, ok bool) {
	if len(head) < frameHead || binary.LittleEndian.Uint32(head) != frameMagic {
		return 0, 0, 0, false
	}
	table = binary.LittleEndian.Uint32(head[4:])
	body = binary.LittleEndian.Uint64(head[8:])
	kept = int64(binary.LittleEndian.Uint64(head[16:]))
	return table, body, kept, table <= maxTable && body < 1<<40 && kept >= 0
}

// parseTable reads the table that follows a head. The offsets of the parts are from the end of the table.
func parseTable(head, table []byte) (parts []part, ok bool) {
	_, body, _, ok := frameSizes(head)
	if !ok || binary.LittleEndian.Uint32(head[24:]) != checksum(head[:24])^checksum(table) {
		return nil, false
	}
	var off uint64
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
		p.count, p.raw, p.stored, p.off = uint32(count), uint32(raw), uint32(stored), int64(off)
		off += stored
		parts = append(parts, p)
		table = r.b
	}
	return parts, len(parts) > 0 && off == body
}

// A reader takes values from the front of bytes; ok says whether all of them were there.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.ok, r.b = false, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.ok, r.b = false, nil
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.ok, r.b = false, nil
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
