//go:build !linux

package demo

// residentMemory is implemented only on Linux.
func residentMemory() memory { return memory{} }
