//go:build unix && !linux

package harm

import "errors"

// BecomeSubreaper fails: only on Linux can a program become the parent of descendants whose own parent ends before them.
func BecomeSubreaper() error { return errors.ErrUnsupported }
