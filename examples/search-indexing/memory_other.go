//go:build !unix

package main

import "os"

// memory is not told by the systems that are no Unix.
func memory(*os.ProcessState) string { return "?" }
