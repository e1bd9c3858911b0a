//go:build unix

package demo

import (
	"runtime"
	"syscall"
	"time"
)

// usage returns what the process has used.
func usage() used {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return used{}
	}
	memory := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		memory *= 1024
	}
	return used{time.Duration(u.Utime.Nano() + u.Stime.Nano()), memory}
}
