package datafolder

import (
	"errors"
	"os"
	"path/filepath"
)

// A Disk changes files. The zero Disk uses the file system. In tests a Disk can fail, or stop at a step as if the process had been killed.
type Disk struct {
	Before func(op, path string) error // called before each step, which fails with its error; nil except in tests
}

// Temporary is the suffix of files that are not complete yet.
const Temporary = ".tmp"

func (d *Disk) check(op, path string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(op, path)
}

// Create creates a file, or truncates it.
func (d *Disk) Create(path string) (*os.File, error) {
	if err := d.check("create", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// WriteAt writes all of b at an offset. After an error, a part may have been written.
func (d *Disk) WriteAt(f *os.File, b []byte, off int64) error {
	if err := d.check("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], off) // a full disk writes a part
		return err
	}
	_, err := f.WriteAt(b, off)
	return err
}

// Sync writes a file's data to disk, and the metadata that is needed to read it.
func (d *Disk) Sync(f *os.File) error {
	if err := d.check("sync", f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

// Truncate cuts a file to a size.
func (d *Disk) Truncate(f *os.File, size int64) error {
	if err := d.check("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

// Rename renames a file, and replaces another one of that name.
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

// Mkdir creates a folder unless it exists, so that it survives a power failure.
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

// SyncFolder writes the names in a folder to disk, if the system supports it.
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
	if err := errors.Join(err, f.Close()); err != nil { // some systems cannot rename a file that is open
		return err
	}
	if err := d.Rename(path+Temporary, path); err != nil {
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}
