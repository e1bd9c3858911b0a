package harm

import (
	"errors"
	"fmt"
	"syscall"
)

// mount puts a file system of its own, of so many bytes in memory, at a folder.
func mount(folder string, size int) error {
	return syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", size))
}

// unmount takes it away; one that is not there is as good.
func unmount(folder string) error {
	err := syscall.Unmount(folder, syscall.MNT_DETACH)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}
