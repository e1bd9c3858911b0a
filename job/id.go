package job

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// An ID identifies a job. It is a UUID of version 7 (RFC 9562), which begins with the time at which it was created, so that a list sorted by ID is
// sorted by age. The ID of a job never changes.
type ID [16]byte

// lastTick is the time of the newest ID of this process, in 4096ths of a millisecond.
var lastTick atomic.Uint64

// NewID returns a new ID. The IDs of one process increase; those of different processes differ in 62 random bits.
func NewID() ID {
	now := time.Now()
	tick := uint64(now.UnixMilli())<<12 | uint64(now.Nanosecond()%1e6)<<12/1e6
	for {
		last := lastTick.Load()
		tick = max(tick, last+1)
		if lastTick.CompareAndSwap(last, tick) {
			break
		}
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], tick>>12<<16|7<<12|tick&0xfff)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	return id
}

// ParseID parses the 36 characters that String returns.
func ParseID(s string) (ID, error) {
	var id ID
	err := id.UnmarshalText([]byte(s))
	return id, err
}

// Time returns when the ID was created, to the millisecond.
func (id ID) Time() time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)) }

// String returns the usual form of a UUID, such as 01932c07-209b-7bcd-a3f1-0c5de4a3b1f9.
func (id ID) String() string {
	text := id.text()
	return string(text[:])
}

// MarshalText writes what String returns.
func (id ID) MarshalText() ([]byte, error) {
	text := id.text()
	return text[:], nil
}

func (id ID) text() (text [36]byte) {
	hex.Encode(text[:], id[:4])
	hex.Encode(text[9:], id[4:6])
	hex.Encode(text[14:], id[6:8])
	hex.Encode(text[19:], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return text
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	wrong := func() error { return fmt.Errorf("%.60q is not a job ID: it should look like %v", text, ID{}) }
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return wrong()
	}
	digits := make([]byte, 0, 32)
	for _, part := range [][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		digits = append(digits, part...)
	}
	if _, err := hex.Decode(id[:], digits); err != nil {
		return wrong()
	}
	return nil
}
