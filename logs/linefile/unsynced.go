package linefile

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// mostUnsynced is the number of bytes, written to all files of a server and not synced, above which a file is synced before the next write.
const mostUnsynced = 64 << 20

// A Memory counts the bytes of lines that the outputs of a server have in memory, so that they are bounded together.
type Memory struct {
	waiting  atomic.Int64 // to be written
	unsynced atomic.Int64 // written to files, and kept until they are synced
}

// unsyncedLines are the lines that were written to a file since its last successful sync. When a sync fails, the system reports that once and
// may have dropped them, so that another sync succeeds without them. So they are written again before another one counts.
type unsyncedLines struct {
	memory *Memory
	chunks [][]byte // so that adding to many lines does not copy them
	size   int
	end    fs.FileInfo // of the file that ended with them when its sync failed; nil if none did
}

// add adds a copy of lines.
func (u *unsyncedLines) add(lines []byte) {
	u.size += len(lines)
	u.memory.unsynced.Add(int64(len(lines)))
	switch last := len(u.chunks) - 1; {
	case last < 0:
		u.chunks = append(u.chunks, append([]byte(nil), lines...))
	case len(u.chunks[last])+len(lines) > mostLines:
		u.chunks = append(u.chunks, append(make([]byte, 0, max(mostLines, len(lines))), lines...))
	default:
		u.chunks[last] = append(u.chunks[last], lines...)
	}
}

// full reports whether the lines have to be synced before more are written.
func (u *unsyncedLines) full() bool { return u.size > 0 && u.memory.unsynced.Load() > mostUnsynced }

// forget forgets the lines. It keeps a buffer for others.
func (u *unsyncedLines) forget() {
	u.memory.unsynced.Add(int64(-u.size))
	if len(u.chunks) > 0 {
		clear(u.chunks[1:])
		u.chunks = u.chunks[:1]
		if u.chunks[0] = u.chunks[0][:0]; cap(u.chunks[0]) > 2*mostLines {
			u.chunks = nil
		}
	}
	u.size, u.end = 0, nil
}

// keep keeps lines that were written to the file until they are synced, if they ever are.
func (t *File) keep(lines []byte) {
	if t.syncs() {
		t.unsynced.add(lines)
	}
}

// syncs reports whether the file, which is open, is one that is synced.
func (t *File) syncs() bool { return t.regular && t.policy != SyncOS }

// syncFailed closes the file, whose unsynced lines the next open writes again.
func (t *File) syncFailed() {
	t.unsynced.end = nil
	if info, err := t.file.Stat(); err == nil && info.Size() == t.size { // otherwise somebody else has changed it
		t.unsynced.end = info
	}
	if err := t.close(); err != nil {
		t.warn("close a file", err)
	}
}

// writeAgain writes the unsynced lines to the file, which was just opened: in their place, or at the end if the file is another one by now or
// somebody else has changed it.
func (t *File) writeAgain(info fs.FileInfo) error {
	lines := bytes.Join(t.unsynced.chunks, nil)
	if end := t.unsynced.end; end != nil && os.SameFile(end, info) && end.Size() == info.Size() {
		return t.overwrite(info, lines)
	}
	t.logger.Warn("logs: lines that may not be on disk are written again, at the end of the file", "file", t.path, "bytes", len(lines))
	t.unsynced.forget()
	err := t.endLine(info)
	if err == nil {
		var n int
		n, err = t.file.Write(lines)
		t.size += int64(n)
	}
	if err != nil {
		t.unsynced.forget() // the end of a line
		t.unsynced.add(lines)
		return err
	}
	t.keep(lines)
	return nil
}

// overwrite writes the last bytes of the file again. It opens the file once more, since what is open only appends.
func (t *File) overwrite(info fs.FileInfo, lines []byte) error {
	f, err := os.OpenFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil {
		return err
	} else if !os.SameFile(now, info) {
		return fmt.Errorf("%s was replaced while it was opened", t.path)
	}
	return t.disk.WriteAt(f, lines, info.Size()-int64(len(lines)))
}
