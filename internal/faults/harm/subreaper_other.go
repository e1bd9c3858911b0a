//go:build unix && !linux

package harm

import "errors"

// BecomeSubreaper would make this program the parent of processes whose own one ends before them. Only Linux can.
func BecomeSubreaper() error { return errors.ErrUnsupported }
