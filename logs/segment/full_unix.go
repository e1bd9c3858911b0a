//go:build unix

package segment

import (
	"errors"
	"syscall"
)

// isFull reports whether an error says that there is no space on disk.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
