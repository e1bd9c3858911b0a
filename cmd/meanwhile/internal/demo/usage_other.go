//go:build !unix

package demo

import "time"

// cpuTime is unknown on systems that are no Unix.
func cpuTime() time.Duration { return 0 }
