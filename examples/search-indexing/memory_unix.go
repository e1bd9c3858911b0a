//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// memory returns the peak memory of a process.
func memory(p *os.ProcessState) string {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return "?"
	}
	size := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		size *= 1024
	}
	return fmt.Sprintf("%d MB", size/1e6)
}
