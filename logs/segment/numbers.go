package segment

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A packing describes how a column's values are written.
type packing struct {
	form   byte
	packed bool // it cannot be made smaller

	// Of numbers.
	least, most int64
	base        int64
	unit        uint64
	width       byte // bytes of a value
}

func (p *packing) append(b []byte) []byte {
	b = binary.AppendVarint(b, p.least)
	b = binary.AppendVarint(b, p.most)
	b = binary.AppendVarint(b, p.base)
	b = binary.AppendUvarint(b, p.unit)
	return append(b, p.width)
}

func (p *packing) read(r *reader) {
	p.least, p.most, p.base = r.varint(), r.varint(), r.varint()
	p.unit, p.width = r.uvarint(), r.byte()
}

// packNumbers appends the payload of a column of at least one number. All arithmetic wraps around, so that any numbers can be written.
func packNumbers(b []byte, all []int64) ([]byte, packing) {
	p := packing{least: slices.Min(all), most: slices.Max(all), unit: 1}
	if p.least == p.most {
		p.form = formConst
		return b, p
	}
	if packed, ok := packFew(b, all); ok {
		p.form = formDict
		return packed, p
	}
	offsets := make([]uint64, len(all))
	lowest, highest := all[1]-all[0], all[1]-all[0]
	for i := 1; i < len(all); i++ {
		lowest, highest = min(lowest, all[i]-all[i-1]), max(highest, all[i]-all[i-1])
	}
	if bits.Len64(uint64(highest-lowest)) < bits.Len64(uint64(p.most-p.least)) {
		p.form, p.base = formDelta, lowest
		b = binary.LittleEndian.AppendUint64(b, uint64(all[0]))
		offsets = offsets[1:]
		for i := range offsets {
			offsets[i] = uint64(all[i+1] - all[i] - lowest)
		}
	} else {
		p.form, p.base = formPlain, p.least
		for i, n := range all {
			offsets[i] = uint64(n - p.least)
		}
	}
	return p.appendPlanes(b, offsets), p
}

// maxFew is the largest number of distinct numbers for which a dictionary is used.
const maxFew = 64

// packFew appends the distinct numbers and, for each number, its index among them, unless there are too many.
func packFew(b []byte, all []int64) ([]byte, bool) {
	dict := make([]int64, 0, maxFew)
	ids := make([]uint8, len(all))
	last := 0
	for i, n := range all {
		if i == 0 || n != dict[last] {
			if last = slices.Index(dict, n); last < 0 {
				if len(dict) == maxFew {
					return b, false
				}
				last = len(dict)
				dict = append(dict, n)
			}
		}
		ids[i] = uint8(last)
	}
	b = binary.AppendUvarint(b, uint64(len(dict)))
	for _, n := range dict {
		b = binary.AppendVarint(b, n)
	}
	return append(b, ids...), true
}

// appendPlanes appends the bytes of numbers, the lowest byte of all of them first: the higher ones are alike.
func (p *packing) appendPlanes(b []byte, offsets []uint64) []byte {
	var unit, most uint64
	for _, n := range offsets {
		if most = max(most, n); unit != 1 {
			unit = gcd(unit, n)
		}
	}
	p.unit = max(unit, 1)
	p.width = byte(bits.Len64(most/p.unit)+7) / 8
	from := len(b)
	b = slices.Grow(b, len(offsets)*int(p.width))[:from+len(offsets)*int(p.width)]
	for k := range int(p.width) {
		plane := b[from+k*len(offsets):][:len(offsets)]
		if p.unit == 1 {
			for i, n := range offsets {
				plane[i] = byte(n >> (8 * k))
			}
			continue
		}
		for i, n := range offsets {
			plane[i] = byte(n / p.unit >> (8 * k))
		}
	}
	return b
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// unpack reads count numbers from a payload, into all.
func (p *packing) unpack(all []int64, payload []byte, count int) ([]int64, bool) {
	all = slices.Grow(all[:0], count)[:count]
	rest, first := payload, int64(0)
	n := count
	switch p.form {
	case formConst:
		for i := range all {
			all[i] = p.least
		}
		return all, len(payload) == 0
	case formPlain:
	case formDelta:
		if n--; n < 0 || len(rest) < 8 {
			return all, false
		}
		first, rest = int64(binary.LittleEndian.Uint64(rest)), rest[8:]
	default:
		return all, false
	}
	if p.width > 8 || len(rest) != n*int(p.width) {
		return all, false
	}
	into := all[count-n:]
	clear(into)
	for k := range int(p.width) {
		for i, c := range rest[k*n : (k+1)*n] {
			into[i] |= int64(c) << (8 * k)
		}
	}
	if p.unit != 1 {
		for i := range into {
			into[i] *= int64(p.unit)
		}
	}
	for i := range into {
		into[i] += p.base
	}
	if p.form == formDelta {
		all[0] = first
		for i := range into {
			first += into[i]
			into[i] = first
		}
	}
	return all, true
}
