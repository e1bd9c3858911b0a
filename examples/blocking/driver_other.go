//go:build !unix

package main

import (
	"runtime"
	"time"
)

// oldDriver stands for a function that accepts no ctx: it waits for half a second and keeps a thread for itself. It is not in
// the kernel, so that neither the tree nor a Watch can detect that it holds one.
func oldDriver() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	time.Sleep(pause)
	return nil
}
