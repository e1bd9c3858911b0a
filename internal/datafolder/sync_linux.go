package datafolder

import (
	"os"
	"syscall"
)

func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync "+f.Name(), err)
		}
	}
}

func syncFolder(f *os.File) error { return f.Sync() }
