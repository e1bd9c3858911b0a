package segment

import (
	"errors"
	"io"
	"log/slog"
	"math"

	"github.com/meanwhile-go/meanwhile/internal/journal"
)

// An entry is a sequence of encoded records of one service that are stored together in a file: a batch in a journal, a block in a
// segment.
type entry struct {
	service  *service // in a journal
	off      int64    // where it is in its file
	stored   uint32   // bytes there
	raw      uint32   // bytes of the encoded records
	crc      uint32   // of what is stored; of a head alone where there is one
	head     uint32   // bytes stored that say where the columns are; zero: the records are stored one after the other
	codec    codec
	count    uint32    // records
	first    uint64    // number of the first
	min, max int64     // times
	levels   [4]uint32 // records by class of level; in a journal all zero
}

func (e *entry) last() uint64 { return e.first + uint64(e.count) - 1 }

// read reads the stored bytes of an entry into buf, which it enlarges if necessary, and verifies their checksum.
func (e *entry) read(f io.ReaderAt, buf []byte) ([]byte, error) {
	if e.stored > 2*maxRaw {
		return buf, errDamaged
	}
	return readPart(f, buf, e.off, e.stored, e.crc)
}

// classes are the lowest levels of the classes that are counted.
var classes = [4]slog.Level{math.MinInt32, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// class returns the class of a level: 0 is below info, 3 is error and above.
func class(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 2
	case level >= slog.LevelInfo:
		return 1
	}
	return 0
}

func checksum(b []byte) uint32 { return journal.Checksum(b) }

// errDamaged is the error for a part of a file that is not as it was written.
var errDamaged = errors.New("damaged")
