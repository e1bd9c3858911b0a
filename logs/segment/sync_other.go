//go:build !linux

package segment

import "os"

// syncData brings a file's data to disk.
func syncData(f *os.File) error { return f.Sync() }

// syncDirFile leaves out what not every system can: some cannot sync a directory.
func syncDirFile(f *os.File) error {
	_ = f.Sync()
	return nil
}
