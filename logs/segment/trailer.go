package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A segment is a file with records of one service, in the order in which they were stored:
//
//	blocks, table of blocks, index of words, trailer
//
// The table has tableLine bytes for each block. The index has for each word of the blocks' Bloom filters, which are all of
// one size, a row: that word of every block, and a crc. The trailer sums up, and has the crcs of itself and of the table.
type segment struct {
	path     string
	service  string
	journal  uint64 // the number of the journal it was made of
	size     int64
	made     time.Time // as the time of the file says
	unsure   bool      // whether made is not known, since the clock was not trusted: until it is, the time of the file is in 1970
	codec    codec     // of all its blocks
	older    bool      // its table has no heads
	blocks   int
	words    int    // of a Bloom filter
	table    int64  // where the table is
	crc      uint32 // of the table
	first    uint64 // number of the first record
	until    uint64 // number of the last one
	count    int64  // records; fewer than numbers where some were damaged
	raw      int64
	levels   [4]int64
	min, max int64

	uses   atomic.Int32 // by the store, and by searches; the end of the last one deletes the file
	remove func()
	asIs   bool // it cannot be condensed; guarded by Store.mu
}

const (
	trailerMagic = "mwlogt2\n"
	olderMagic   = "mwlogt1\n" // of segments whose blocks are all without columns; they are read, and not written any more
	trailerSize  = 8 + 8*14 + 4*4 + 1 + logs.MaxService + 4
	tableLine    = 72
	olderLine    = 68 // without the size of the head
)

// release ends a use of the segment.
func (g *segment) release() {
	if g.uses.Add(-1) == 0 {
		g.remove()
	}
}

func (g *segment) trailer() []byte {
	b := append(make([]byte, 0, trailerSize), trailerMagic...)
	for _, x := range []uint64{
		g.journal, uint64(g.made.UnixNano()), uint64(g.table), g.first, g.until, uint64(g.count), uint64(g.raw), uint64(g.min), uint64(g.max),
		uint64(g.levels[0]), uint64(g.levels[1]), uint64(g.levels[2]), uint64(g.levels[3]), uint64(g.size),
	} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	for _, x := range []uint32{uint32(g.blocks), uint32(g.words), g.crc, uint32(g.codec)} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	b = append(b, byte(len(g.service)))
	b = append(b, g.service...)
	b = append(b, make([]byte, logs.MaxService-len(g.service))...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// parseTrailer reads what trailer wrote, from the end of a file of size bytes.
func parseTrailer(b []byte, size int64) (*segment, bool) {
	older := bytes.HasPrefix(b, []byte(olderMagic))
	if len(b) != trailerSize || !older && !bytes.HasPrefix(b, []byte(trailerMagic)) || checksum(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, false
	}
	r := reader{b: b[len(trailerMagic):], ok: true}
	g := &segment{older: older, journal: r.uint64(), made: time.Unix(0, int64(r.uint64())), table: int64(r.uint64())}
	g.first, g.until, g.count, g.raw, g.min, g.max = r.uint64(), r.uint64(), int64(r.uint64()), int64(r.uint64()), int64(r.uint64()), int64(r.uint64())
	for i := range g.levels {
		g.levels[i] = int64(r.uint64())
	}
	g.size = int64(r.uint64())
	g.blocks, g.words, g.crc, g.codec = int(r.uint32()), int(r.uint32()), r.uint32(), codec(r.uint32())
	g.service = string(r.bytes(uint64(r.byte())))
	g.uses.Store(1)
	whole := r.ok && logs.CheckService(g.service) == nil && g.first > 0 && g.first <= g.until && g.count > 0 && uint64(g.count) <= g.until-g.first+1 &&
		g.blocks > 0 && g.blocks <= maxBlocks && g.words >= minBloom && g.words <= maxBloom && g.words&(g.words-1) == 0 && g.size == size && g.table >= 0 &&
		g.index()+int64(g.words)*g.row()+trailerSize == size
	return g, whole
}

// maxBlocks bounds what is read of a segment's table.
const maxBlocks = 1 << 20

// line returns the size of a line of the table.
func (g *segment) line() int {
	if g.older {
		return olderLine
	}
	return tableLine
}

// index returns where the index of words is.
func (g *segment) index() int64 { return g.table + int64(g.blocks)*int64(g.line()) }

// row returns the size of a row of the index.
func (g *segment) row() int64 { return int64(g.blocks)*8 + 4 }

// readSegment reads the trailer of a segment.
func readSegment(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, trailerSize)
	if _, err := f.ReadAt(b, max(0, info.Size()-trailerSize)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	g, ok := parseTrailer(b, info.Size())
	if !ok {
		return nil, errDamaged
	}
	g.path = path
	g.unsure = info.ModTime().Unix() == 0
	if !g.unsure {
		g.made = info.ModTime()
	}
	return g, nil
}

// stamp sets the modification time of a file of the segment.
func (g *segment) stamp(path string) error {
	if g.unsure {
		return os.Chtimes(path, time.Time{}, time.Unix(0, 0))
	}
	return os.Chtimes(path, time.Time{}, g.made)
}

// appendLine appends a block's line of the table.
func (e *entry) appendLine(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.off))
	for _, x := range []uint32{e.stored, e.raw, e.crc, uint32(e.codec), e.count, e.levels[0], e.levels[1], e.levels[2], e.levels[3]} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	for _, x := range []uint64{e.first, uint64(e.min), uint64(e.max)} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return binary.LittleEndian.AppendUint32(b, e.head)
}

// readTable reads the table of a segment's file.
func (g *segment) readTable(f io.ReaderAt) ([]entry, error) {
	b := make([]byte, g.blocks*g.line())
	if _, err := f.ReadAt(b, g.table); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if err != nil || checksum(b) != g.crc {
		return nil, errDamaged
	}
	entries := make([]entry, g.blocks)
	r := reader{b: b, ok: true}
	for i := range entries {
		e := &entries[i]
		e.off = int64(r.uint64())
		e.stored, e.raw, e.crc, e.codec, e.count = r.uint32(), r.uint32(), r.uint32(), codec(r.uint32()), r.uint32()
		for i := range e.levels {
			e.levels[i] = r.uint32()
		}
		e.first, e.min, e.max = r.uint64(), int64(r.uint64()), int64(r.uint64())
		if !g.older {
			e.head = r.uint32()
		}
		if e.count == 0 || e.count > e.raw || e.raw > maxRaw || e.off < 0 || e.off > g.table {
			return nil, errDamaged
		}
	}
	return entries, nil
}

// candidates reports for each block whether it may have all tokens. A row that is damaged excludes nothing.
func (g *segment) candidates(f io.ReaderAt, tokens []uint64) ([]bool, error) {
	may := slices.Repeat([]bool{true}, g.blocks)
	b := make([]byte, g.row())
	var damaged error
	for _, token := range tokens {
		two := probes(token, g.words)
		some := two[:]
		if g.older {
			some = []probe{olderProbe(token, g.words)}
		}
		for _, p := range some {
			if _, err := f.ReadAt(b, g.index()+int64(p.word)*g.row()); err != nil {
				return may, err
			}
			if checksum(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
				damaged = errDamaged
				continue
			}
			for i := range may {
				may[i] = may[i] && binary.LittleEndian.Uint64(b[8*i:])&p.mask == p.mask
			}
		}
	}
	return may, damaged
}
