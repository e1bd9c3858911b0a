package harm

import "syscall"

// BecomeSubreaper makes this program the parent of descendants whose own parent ends before them.
func BecomeSubreaper() error {
	const setChildSubreaper = 36
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); err != 0 {
		return err
	}
	return nil
}
