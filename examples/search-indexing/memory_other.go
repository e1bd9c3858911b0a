//go:build !unix

package main

import "os"

// memory is not reported on systems other than Unix.
func memory(*os.ProcessState) string { return "?" }
