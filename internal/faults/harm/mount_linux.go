package harm

import (
	"errors"
	"fmt"
	"syscall"
)

// mount mounts a file system of size bytes, in memory, at folder.
func mount(folder string, size int) error {
	return syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", size))
}

// unmount unmounts it. It is not an error if nothing is mounted there.
func unmount(folder string) error {
	err := syscall.Unmount(folder, syscall.MNT_DETACH)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}
