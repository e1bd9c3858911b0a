package segment

import (
	"bufio"
	"encoding/binary"
	"os"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

// A writer writes a segment, block by block, under a temporary name.
type writer struct {
	segment
	disk   *datafolder.Disk
	file   *os.File
	buf    *bufio.Writer
	off    int64
	lines  []byte
	blooms [][]uint64
}

// newWriter starts the segment at a path, in whose directory it creates the temporary file.
func newWriter(d *datafolder.Disk, path string, of *segment) (*writer, error) {
	f, err := d.Create(path + datafolder.Temporary)
	if err != nil {
		return nil, err
	}
	w := &writer{disk: d, file: f}
	w.path, w.service, w.journal, w.made, w.unsure, w.codec = path, of.service, of.journal, of.made, of.unsure, of.codec
	w.buf = bufio.NewWriterSize(checked{w}, 256<<10)
	return w, nil
}

// checked writes to a writer's file through its disk.
type checked struct{ w *writer }

func (c checked) Write(b []byte) (int, error) {
	if err := c.w.disk.WriteAt(c.w.file, b, c.w.off); err != nil {
		return 0, err
	}
	c.w.off += int64(len(b))
	return len(b), nil
}

// add writes a block. The caller may use it again.
func (w *writer) add(b *block) error {
	e := b.entry
	e.off = w.off + int64(w.buf.Buffered())
	if w.blocks == 0 {
		w.first, w.min, w.max = e.first, e.min, e.max
	}
	w.until, w.min, w.max = b.until, min(w.min, e.min), max(w.max, e.max)
	w.count += int64(e.count)
	w.raw += int64(e.raw)
	for i, n := range e.levels {
		w.levels[i] += int64(n)
	}
	w.blocks++
	w.words = max(w.words, len(b.words))
	w.blooms = append(w.blooms, b.words)
	w.lines = e.appendLine(w.lines)
	_, err := w.buf.Write(b.stored)
	return err
}

// finish writes what follows the blocks, syncs the file, and gives it its name.
func (w *writer) finish() (*segment, error) {
	g := &segment{
		path: w.path, service: w.service, journal: w.journal, made: w.made, unsure: w.unsure, codec: w.codec, blocks: w.blocks, words: w.words, first: w.first,
		until: w.until, count: w.count, raw: w.raw, levels: w.levels, min: w.min, max: w.max,
	}
	g.table, g.crc = w.off+int64(w.buf.Buffered()), checksum(w.lines)
	g.size = g.table + int64(len(w.lines)) + int64(g.words)*g.row() + trailerSize
	g.uses.Store(1)
	_, err := w.buf.Write(w.lines)
	if err == nil {
		err = w.writeIndex(g.row())
	}
	if err == nil {
		_, err = w.buf.Write(g.trailer())
	}
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = g.stamp(w.path + datafolder.Temporary)
	}
	if err == nil {
		err = w.disk.Sync(w.file)
	}
	if err == nil {
		err = w.disk.Rename(w.path+datafolder.Temporary, w.path)
	}
	if err != nil {
		w.abandon()
		return nil, err
	}
	return g, w.file.Close()
}

func (w *writer) writeIndex(size int64) error {
	row := make([]byte, 0, size)
	for i := range w.words {
		row = row[:0]
		for _, words := range w.blooms {
			row = binary.LittleEndian.AppendUint64(row, words[i%len(words)])
		}
		row = binary.LittleEndian.AppendUint32(row, checksum(row))
		if _, err := w.buf.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// abandon deletes what was written.
func (w *writer) abandon() {
	_ = w.file.Close()
	_ = w.disk.Remove(w.path + datafolder.Temporary)
}
