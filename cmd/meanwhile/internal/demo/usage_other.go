//go:build !unix

package demo

import "time"

// cpuTime is unknown on systems other than Unix.
func cpuTime() time.Duration { return 0 }
