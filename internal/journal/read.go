package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"time"
)

// scan opens a file and reads its frames until the file ends or a frame is not whole. It returns the file, whose size is that of the whole frames,
// and how many bytes follow.
func (d *Folder) scan(path string, flag int, layout Layout) (f *File, torn int64, err error) {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	head := make([]byte, HeadSize)
	if _, err := file.ReadAt(head, 0); failed(err) {
		return nil, 0, err
	} else if err != nil || !bytes.HasPrefix(head, []byte(d.Magic)) || Checksum(head[:HeadSize-4]) != binary.LittleEndian.Uint32(head[HeadSize-4:]) {
		return nil, info.Size(), errNoHead
	}
	f = newFile(d, file, binary.LittleEndian.Uint64(head[8:]), time.Unix(0, int64(binary.LittleEndian.Uint64(head[16:]))))
	r := &reader{file: file, size: info.Size(), layout: layout}
	for {
		found, err := r.frame(f.size)
		if err != nil {
			return nil, 0, err
		}
		if found.take != nil {
			found.take(found.parts)
			f.size, f.synced = found.end, found.end
			continue
		}
		next, err := r.afterDamage(f.size)
		if err != nil {
			return nil, 0, err
		} else if next == 0 {
			return f, info.Size() - f.size, nil
		}
		d.Logger.Error("a part of a journal is damaged, and is left out", "journal", path, "at", f.size, "bytes", next-f.size)
		f.size, f.synced = next, next
	}
}

// failed reports whether a file could not be read. That means nothing about its content.
func failed(err error) bool { return err != nil && !errors.Is(err, io.EOF) }

// A reader reads the frames of a file of a given size.
type reader struct {
	file   io.ReaderAt
	size   int64
	layout Layout
	table  []byte
	buf    []byte
}

const readBytes = 256 << 10 // at once

// A foundFrame is a frame as far as it is whole.
type foundFrame struct {
	parts, end, synced int64       // where its parts begin, where it ends, and what it says was on disk; zero if its head or table is not whole
	take               func(int64) // the function to call; nil if a part is not whole
}

// frame reads the frame at off and checks all of it.
func (r *reader) frame(off int64) (f foundFrame, err error) {
	var b [frameHead]byte
	if r.size-off < frameHead {
		return f, nil
	}
	if _, err := r.file.ReadAt(b[:], off); err != nil {
		return f, err
	}
	h, ok := parseHead(b[:])
	if !ok || h.table > r.size-off-frameHead {
		return f, nil
	}
	if int64(cap(r.table)) < h.table {
		r.table = make([]byte, h.table)
	}
	table := r.table[:h.table]
	if _, err := r.file.ReadAt(table, off+frameHead); err != nil {
		return f, err
	}
	if Checksum(table) != h.sum {
		return f, nil
	}
	f.parts = off + frameHead + h.table
	f.end, f.synced = f.parts+h.body, h.synced
	if f.end > r.size {
		return f, nil
	}
	parts, take, ok := r.layout(table)
	if !ok {
		return f, nil
	}
	next := f.parts
	for _, p := range parts {
		if p.Size < 0 || p.Size > f.end-next {
			return f, nil
		}
		if whole, err := r.part(p, next); !whole || err != nil {
			return f, err
		}
		next += p.Size
	}
	if next == f.end {
		f.take = take
	}
	return f, nil
}

// part reports whether a part is undamaged.
func (r *reader) part(p Part, off int64) (whole bool, err error) {
	if r.buf == nil {
		r.buf = make([]byte, readBytes)
	}
	sum := uint32(0)
	for left := p.Size; left > 0; {
		b := r.buf[:min(left, readBytes)]
		if _, err := r.file.ReadAt(b, off); err != nil {
			return false, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		off += int64(len(b))
		left -= int64(len(b))
	}
	return sum == p.Checksum, nil
}

// afterDamage returns the offset of the next whole frame which says that the frame at off was on disk when it was written; zero if there is none.
func (r *reader) afterDamage(off int64) (int64, error) {
	at := off
	// As long as heads and tables are whole, they say where the next frame begins. The parts are passed over: they come from clients, and may look like
	// frames.
	for {
		f, err := r.frame(at)
		if f.take != nil && f.synced > off || err != nil {
			return at, err
		}
		if f.end == 0 {
			break
		}
		at = f.end
	}
	mark := binary.LittleEndian.AppendUint32(nil, frameMark)
	b := make([]byte, readBytes)
	for at++; at+frameHead <= r.size; {
		n, err := r.file.ReadAt(b, at)
		if failed(err) {
			return 0, err
		}
		i := bytes.Index(b[:n], mark)
		if i < 0 {
			at += int64(max(1, n-len(mark)+1))
			continue
		}
		at += int64(i)
		var head [frameHead]byte
		if _, err := r.file.ReadAt(head[:], at); failed(err) {
			return 0, err
		}
		if h, ok := parseHead(head[:]); ok && h.synced > off {
			if f, err := r.frame(at); f.take != nil || err != nil {
				return at, err
			}
		}
		at++
	}
	return 0, nil
}
