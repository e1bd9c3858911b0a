//go:build !unix

package send

import (
	"os"
	"syscall"
)

var (
	// forwarded are the signals that are passed on to the command.
	forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

	// ofTerminal are those that a console sends to all its processes.
	ofTerminal = []os.Signal{os.Interrupt}

	// stopping are the signals that end the wait for the server after the command has ended.
	stopping = forwarded
)

func exitCode(state *os.ProcessState) int { return state.ExitCode() }

// inForeground reports whether the console sends its signals to the command as well.
func inForeground() bool { return true }
