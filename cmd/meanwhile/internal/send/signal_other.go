//go:build !unix

package send

import (
	"os"
	"syscall"
)

var (
	// forwarded are the signals that a command gets when this program does.
	forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

	// ofTerminal are those of them that a terminal sends to the command as well.
	ofTerminal = []os.Signal{os.Interrupt}

	// stopping are those that end the wait for the server, when the command has ended.
	stopping = forwarded
)

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
