package segment

import (
	"os"
	"path/filepath"
)

// A disk is where a store changes files. A test's disk fails, or stops at a step as if the process had been killed.
type disk struct {
	before func(op, path string) error // nil, but in tests
}

func (d *disk) check(op, path string) error {
	if d.before == nil {
		return nil
	}
	return d.before(op, path)
}

func (d *disk) create(path string) (*os.File, error) {
	if err := d.check("create", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (d *disk) writeAt(f *os.File, b []byte, off int64) error {
	if err := d.check("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:len(b)/2], off) // a disk that gets full takes a part
		return err
	}
	_, err := f.WriteAt(b, off)
	return err
}

func (d *disk) sync(f *os.File) error {
	if err := d.check("sync", f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

func (d *disk) truncate(f *os.File, size int64) error {
	if err := d.check("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

func (d *disk) rename(from, to string) error {
	if err := d.check("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (d *disk) remove(path string) error {
	if err := d.check("remove", path); err != nil {
		return err
	}
	return os.Remove(path)
}

// mkdir makes a directory, if it is not there, so that a loss of power does not take it.
func (d *disk) mkdir(path string) error {
	if err := d.check("mkdir", path); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if os.IsExist(err) {
			return nil
		}
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

// syncDir brings the names in a directory to disk.
func (d *disk) syncDir(path string) error {
	if err := d.check("syncdir", path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDirFile(f)
}

// writeFile replaces a file as a whole, or not at all.
func (d *disk) writeFile(path string, data []byte) error {
	f, err := d.create(path + temporary)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.writeAt(f, data, 0); err != nil {
		return err
	}
	if err := d.sync(f); err != nil {
		return err
	}
	if err := d.rename(path+temporary, path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

// temporary ends the names of files that are not whole yet. What is left of them is deleted at open.
const temporary = ".tmp"
