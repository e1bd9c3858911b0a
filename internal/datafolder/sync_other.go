//go:build !linux

package datafolder

import "os"

func syncData(f *os.File) error { return f.Sync() }

// syncFolder ignores errors, since some systems cannot sync a folder.
func syncFolder(f *os.File) error {
	_ = f.Sync()
	return nil
}
