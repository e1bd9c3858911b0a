//go:build !unix

package send

import (
	"os"
	"syscall"
)

// forwarded are the signals that a command gets when this program does.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
