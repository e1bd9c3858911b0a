package segment

import (
	"os"
	"syscall"
)

// syncData brings a file's data, and as much of what is known about the file as is needed to read it, to disk.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync "+f.Name(), err)
		}
	}
}

func syncDirFile(f *os.File) error { return f.Sync() }
