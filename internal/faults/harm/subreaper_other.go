//go:build unix && !linux

package harm

import "errors"

// Adopt would make this program the parent of processes whose own one ends before them. Only Linux can.
func Adopt() error { return errors.ErrUnsupported }
