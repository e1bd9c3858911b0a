//go:build unix

package send

import (
	"os"
	"syscall"
)

var (
	// forwarded are the signals that are passed on to the command.
	forwarded = []os.Signal{
		syscall.SIGHUP, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}

	// ofTerminal are those that a terminal sends to the command as well.
	ofTerminal = []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGWINCH}

	// stopping are the signals that end the wait for the server after the command has ended.
	stopping = []os.Signal{syscall.SIGHUP, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM}
)

// exitCode returns the exit code that a shell would return.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
