//go:build !linux

package demo

// residentMemory is read on Linux only.
func residentMemory() memory { return memory{} }
