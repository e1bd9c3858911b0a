package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// A journal is a file that batches of all services are appended to, in frames. It begins with
// "mwlogs1\n", its number, when it was made, and the crc of these.
type journal struct {
	number uint64
	path   string
	file   *os.File
	made   time.Time
	uses   atomic.Int32 // by the store, and by searches; who ends the last one closes the file

	// Guarded by Store.writing.
	size int64
	torn bool // more than size is in the file, and could not be cut off

	// Guarded by Store.mu. What they hold does not change, so that a search takes a slice of it along.
	kept     int64 // size of what is on disk, or, where Append does not wait for that, written
	entries  []entry
	services map[*service]*holding
	before   uint64 // records in all journals before it, since the store was opened
	records  uint64 // in this one
	raw      int64
}

const (
	journalMagic = "mwlogs1\n"
	journalHead  = len(journalMagic) + 8 + 8 + 4
)

func journalPath(dir string, number uint64) string {
	return filepath.Join(dir, "journal", fmt.Sprintf("%012d.journal", number))
}

func createJournal(d *disk, dir string, number uint64, now time.Time) (*journal, error) {
	head := append([]byte(nil), journalMagic...)
	head = binary.LittleEndian.AppendUint64(head, number)
	head = binary.LittleEndian.AppendUint64(head, uint64(now.UnixNano()))
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	path := journalPath(dir, number)
	f, err := d.create(path)
	if err != nil {
		return nil, err
	}
	err = d.writeAt(f, head, 0)
	if err == nil {
		err = d.sync(f)
	}
	if err == nil {
		err = d.syncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = f.Close()
		_ = d.remove(path)
		return nil, err
	}
	return newJournal(f, number, now), nil
}

func newJournal(f *os.File, number uint64, made time.Time) *journal {
	j := &journal{number: number, path: f.Name(), file: f, made: made, size: int64(journalHead), kept: int64(journalHead), services: make(map[*service]*holding)}
	j.uses.Store(1)
	return j
}

// errNoHead says that a journal ends before it has begun: its process died while it made the file.
var errNoHead = errors.New("no head")

// scan opens a journal and calls each with the parts of every frame, up to the end, which is where the file ends or a frame
// is not whole. It returns the journal, whose size is what is whole, and how many bytes follow that. A frame that is not
// whole and was on disk when a later one was written is no end: it has rotted, and is left out alone.
func scan(path string, flag int, each func(j *journal, parts []part), rotten func(at, bytes int64)) (j *journal, cut int64, err error) {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	head := make([]byte, journalHead)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	} else if err != nil || !bytes.HasPrefix(head, []byte(journalMagic)) || checksum(head[:24]) != binary.LittleEndian.Uint32(head[24:]) {
		return nil, info.Size(), errNoHead
	}
	j = newJournal(f, binary.LittleEndian.Uint64(head[8:]), time.Unix(0, int64(binary.LittleEndian.Uint64(head[16:]))))
	var room []byte
	for {
		parts, next, r, err := readFrame(f, j.size, info.Size(), room)
		if err != nil {
			return nil, 0, err
		}
		if parts == nil {
			next, err := afterRot(f, j.size, info.Size())
			if err != nil {
				return nil, 0, err
			}
			if next == 0 {
				return j, info.Size() - j.size, nil
			}
			rotten(j.size, next-j.size)
			j.size = next
			continue
		}
		each(j, parts)
		room, j.size, j.kept = r, next, next
	}
}

// afterRot returns where a frame is that was written when all before it was on disk, that at off too; zero: there is none.
func afterRot(f io.ReaderAt, off, size int64) (int64, error) {
	magic := binary.LittleEndian.AppendUint32(nil, frameMagic)
	b := make([]byte, windowBytes)
	var room []byte
	for at := off + 1; at+frameHead <= size; {
		n, err := f.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		i := bytes.Index(b[:n], magic)
		if i < 0 {
			at += int64(max(1, n-len(magic)+1))
			continue
		}
		var head [frameHead]byte
		if _, err := f.ReadAt(head[:], at+int64(i)); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if _, _, kept, ok := frameSizes(head[:]); ok && kept > off {
			parts, _, r, err := readFrame(f, at+int64(i), size, room)
			if parts != nil || err != nil {
				return at + int64(i), err
			}
			room = r
		}
		at += int64(i) + 1
	}
	return 0, nil
}

// readFrame reads the frame at off and checks all of it. There are no parts where there is no whole one.
func readFrame(f io.ReaderAt, off, size int64, room []byte) (parts []part, next int64, _ []byte, err error) {
	var head [frameHead]byte
	if size-off < frameHead {
		return nil, 0, room, nil
	}
	if _, err := f.ReadAt(head[:], off); err != nil {
		return nil, 0, room, err
	}
	tableSize, body, _, ok := frameSizes(head[:])
	rest := size - off - frameHead
	if !ok || int64(tableSize) > rest || int64(body) > rest-int64(tableSize) {
		return nil, 0, room, nil
	}
	table := make([]byte, tableSize)
	if _, err := f.ReadAt(table, off+frameHead); err != nil {
		return nil, 0, room, err
	}
	if parts, ok = parseTable(head[:], table); !ok {
		return nil, 0, room, nil
	}
	off += frameHead + int64(tableSize)
	for i := range parts {
		p := &parts[i]
		p.off += off
		if room, err = p.read(f, room); errors.Is(err, errDamaged) {
			return nil, 0, room, nil
		} else if err != nil {
			return nil, 0, room, err
		}
	}
	return parts, off + int64(body), room, nil
}

// read reads what is stored of an entry, in room if it has the space, and checks it.
func (e *entry) read(f io.ReaderAt, room []byte) ([]byte, error) {
	if e.stored > 2*maxRaw {
		return room, errDamaged
	}
	if cap(room) < int(e.stored) {
		room = make([]byte, e.stored)
	}
	room = room[:e.stored]
	if _, err := f.ReadAt(room, e.off); errors.Is(err, io.EOF) {
		return room, errDamaged
	} else if err != nil {
		return room, err
	}
	if checksum(room) != e.crc {
		return room, errDamaged
	}
	return room, nil
}

// release ends a use of the journal.
func (j *journal) release() {
	if j.uses.Add(-1) == 0 {
		_ = j.file.Close()
	}
}
