//go:build unix

package linefile

import (
	"io/fs"
	"syscall"
)

// inodeOf returns the inode number of a file, which it keeps when it is renamed.
func inodeOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
