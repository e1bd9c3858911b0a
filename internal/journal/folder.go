package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

const (
	extension = ".journal"
	aside     = ".damaged"
)

// A Folder is a folder with the files of a journal. Its user must lock it: see [datafolder.Lock].
type Folder struct {
	Dir      string
	Magic    string // 8 bytes at the beginning of each file, by which files of different journals differ
	Disk     *datafolder.Disk
	Durable  bool // a frame counts when it is on disk; otherwise, when it is written
	Lazy     bool // new files need not be on disk at once
	ReadOnly bool // nothing is changed
	Logger   *slog.Logger
}

// Path returns the path of a file.
func (d *Folder) Path(number uint64) string {
	return filepath.Join(d.Dir, fmt.Sprintf("%012d%s", number, extension))
}

// Numbers returns the numbers of the files, in order, and the highest number of any file, including those that were put aside.
func (d *Folder) Numbers() (numbers []uint64, last uint64, err error) {
	names, err := os.ReadDir(d.Dir)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		text := strings.TrimSuffix(name.Name(), aside)
		n, err := strconv.ParseUint(strings.TrimSuffix(text, extension), 10, 64)
		if err != nil || filepath.Base(d.Path(n)) != text {
			continue
		}
		last = max(last, n)
		if text == name.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, last, nil
}

// HeadSize is the offset of the first frame in a file.
const HeadSize = 8 + 8 + 8 + 4

// A Frame is what is appended at once.
type Frame struct {
	Table []byte
	Parts [][]byte
}

// Create creates a file that starts with some frames. Its number must be higher than all before. After an error there is no such file.
func (d *Folder) Create(number uint64, made time.Time, frames ...Frame) (_ *File, err error) {
	head := append([]byte(nil), d.Magic...)
	head = binary.LittleEndian.AppendUint64(head, number)
	head = binary.LittleEndian.AppendUint64(head, uint64(made.UnixNano()))
	head = binary.LittleEndian.AppendUint32(head, Checksum(head))
	file, err := d.Disk.Create(d.Path(number))
	if err != nil {
		return nil, err
	}
	f := newFile(d, file, number, made)
	defer func() {
		if err != nil {
			f.Release()
			_ = f.Remove()
		}
	}()
	if err := d.Disk.WriteAt(file, head, 0); err != nil {
		return nil, err
	}
	for _, frame := range frames {
		if _, _, err := f.Append(frame.Table, frame.Parts...); err != nil {
			return nil, err
		}
	}
	if d.Lazy {
		return f, nil
	}
	f.mu.Lock()
	f.lead()
	err = f.failed
	f.mu.Unlock()
	if err == nil {
		err = d.Disk.SyncFolder(d.Dir)
	}
	return f, err
}

// errNoHead is the error of a file whose head is not whole: its process died while it created the file, or the disk damaged it.
var errNoHead = errors.New("no head")

// Open reads a file. It calls layout for the table of each frame and, in order, the returned function of each frame that is whole. It cuts off the
// end that is not whole, and syncs the rest. It returns nil for a file without a head, which it renames to put it aside.
func (d *Folder) Open(number uint64, layout Layout) (*File, error) {
	path := d.Path(number)
	flag := os.O_RDWR
	if d.ReadOnly {
		flag = os.O_RDONLY
	}
	f, torn, err := d.scan(path, flag, layout)
	if errors.Is(err, errNoHead) {
		return nil, d.putAside(path, torn)
	} else if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	if torn > 0 {
		d.Logger.Warn("the end of a journal was not whole, and is cut off", "journal", path, "bytes", torn, "kept", f.size)
	}
	if d.ReadOnly {
		return f, nil
	}
	if torn > 0 {
		err = d.Disk.Truncate(f.file, f.size)
	}
	// The frames that were read must be on disk, even if the process that wrote them was killed before its sync.
	if err = errors.Join(err, d.Disk.Sync(f.file)); err != nil {
		f.Release()
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	return f, nil
}

// putAside renames a file without a head, or deletes it if there is nothing else in it.
func (d *Folder) putAside(path string, size int64) error {
	if size > HeadSize {
		d.Logger.Error("a journal cannot be read, and is put aside", "journal", path, "bytes", size)
	}
	switch {
	case d.ReadOnly:
		return nil
	case size <= HeadSize:
		return d.Disk.Remove(path)
	}
	return d.Disk.Rename(path, path+aside)
}
