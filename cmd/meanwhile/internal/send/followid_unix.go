//go:build unix

package send

import (
	"errors"
	"os"
	"syscall"
)

// fileID returns the device and inode numbers of a file.
func fileID(info os.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}

// exists reports whether an open file has a name.
func exists(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 0
}

// lockState locks a state until the file is closed or the process ends.
func lockState(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another process has it; give each its own")
		}
		return nil, err
	}
	return f, nil
}
