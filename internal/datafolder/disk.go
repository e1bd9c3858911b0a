package datafolder

import (
	"errors"
	"os"
	"path/filepath"
)

// A Disk is where files are changed. The zero Disk is that of the system; a test's fails, or stops at a step as if the process had been
// killed.
type Disk struct {
	Before func(op, path string) error // called before each step, which fails with its error; nil, but in tests
}

// Temporary ends the names of files that are not whole yet.
const Temporary = ".tmp"

func (d *Disk) check(op, path string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(op, path)
}

// Create makes a file, or empties it.
func (d *Disk) Create(path string) (*os.File, error) {
	if err := d.check("create", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// WriteAt writes all of b at an offset. When it fails, some of it may have been written.
func (d *Disk) WriteAt(f *os.File, b []byte, off int64) error {
	if err := d.check("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], off) // a disk that gets full takes a part
		return err
	}
	_, err := f.WriteAt(b, off)
	return err
}

// Sync brings a file's data to disk, and as much of what is known about the file as is needed to read it.
func (d *Disk) Sync(f *os.File) error {
	if err := d.check("sync", f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

// Truncate cuts a file off at a size.
func (d *Disk) Truncate(f *os.File, size int64) error {
	if err := d.check("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

// Rename renames a file, in place of another if there is one.
func (d *Disk) Rename(from, to string) error {
	if err := d.check("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Remove removes a file, or an empty folder.
func (d *Disk) Remove(path string) error {
	if err := d.check("remove", path); err != nil {
		return err
	}
	return os.Remove(path)
}

// Mkdir makes a folder if it is not there, so that a loss of power does not take it.
func (d *Disk) Mkdir(path string) error {
	if err := d.check("mkdir", path); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if os.IsExist(err) {
			return nil
		}
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}

// SyncFolder brings the names in a folder to disk, where the system can.
func (d *Disk) SyncFolder(path string) error {
	if err := d.check("syncdir", path); err != nil {
		return err
	}
	return Sync(path)
}

// WriteFile replaces a file as a whole, or not at all.
func (d *Disk) WriteFile(path string, data []byte) error {
	f, err := d.Create(path + Temporary)
	if err != nil {
		return err
	}
	err = d.WriteAt(f, data, 0)
	if err == nil {
		err = d.Sync(f)
	}
	if err := errors.Join(err, f.Close()); err != nil { // not every system renames a file that is open
		return err
	}
	if err := d.Rename(path+Temporary, path); err != nil {
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}
