package redis

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A packer writes MessagePack values one after the other into one argument, which costs the server much less than many arguments.
type packer []byte

// array writes the header of an array of n values.
func (p *packer) array(n int) { *p = append(*p, 0xdc, byte(n>>8), byte(n)) }

func (p *packer) text(s string) {
	*p = append(p.head(len(s)), s...)
}

func (p *packer) bytes(b []byte) {
	*p = append(p.head(len(b)), b...)
}

// packed writes a string that contains packed values.
func (p *packer) packed(b []byte) {
	var inner packer
	inner = inner.head(len(b))
	*p = append(append(p.head(len(inner)+len(b)), inner...), b...)
}

// head writes the header of a string.
func (p *packer) head(size int) []byte {
	switch {
	case size < 32:
		return append(*p, 0xa0|byte(size))
	case size < 1<<8:
		return append(*p, 0xd9, byte(size))
	case size < 1<<16:
		return append(*p, 0xda, byte(size>>8), byte(size))
	}
	return binary.BigEndian.AppendUint32(append(*p, 0xdb), uint32(size))
}

func (p *packer) number(n int64) {
	if n >= 0 && n < 128 {
		*p = append(*p, byte(n))
		return
	}
	*p = binary.BigEndian.AppendUint64(append(*p, 0xd3), uint64(n))
}

// An unpacker reads strings and numbers that a script has packed.
type unpacker struct {
	rest []byte
	err  error
}

func (u *unpacker) fail(what string) {
	if u.err == nil {
		u.err = fmt.Errorf("the value of a job is broken: %s", what)
	}
	u.rest = nil
}

func (u *unpacker) cut(n int) []byte {
	if n > len(u.rest) {
		u.fail("it ends too early")
		return make([]byte, min(n, 8))
	}
	part := u.rest[:n:n]
	u.rest = u.rest[n:]
	return part
}

// big reads a number of n bytes.
func (u *unpacker) big(n int) (v uint64) {
	for _, b := range u.cut(n) {
		v = v<<8 | uint64(b)
	}
	return v
}

func (u *unpacker) text() []byte {
	switch b := u.cut(1)[0]; {
	case b >= 0xa0 && b < 0xc0:
		return u.cut(int(b & 31))
	case b >= 0xd9 && b <= 0xdb:
		return u.cut(int(u.big(1 << (b - 0xd9))))
	default:
		u.fail(fmt.Sprintf("no string begins with %#x", b))
		return nil
	}
}

func (u *unpacker) number() int64 {
	switch b := u.cut(1)[0]; {
	case b < 0x80:
		return int64(b)
	case b >= 0xe0:
		return int64(int8(b))
	case b >= 0xcc && b <= 0xcf:
		return int64(u.big(1 << (b - 0xcc)))
	case b >= 0xd0 && b <= 0xd3:
		size := 1 << (b - 0xd0)
		shift := 64 - 8*size
		return int64(u.big(size)<<shift) >> shift
	case b == 0xca:
		return int64(math.Float32frombits(uint32(u.big(4))))
	case b == 0xcb:
		return int64(math.Float64frombits(u.big(8)))
	default:
		u.fail(fmt.Sprintf("no number begins with %#x", b))
		return 0
	}
}
