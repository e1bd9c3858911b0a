//go:build unix

package send

import (
	"os"
	"syscall"
)

var (
	// forwarded are the signals that a command gets when this program does.
	forwarded = []os.Signal{
		syscall.SIGHUP, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}

	// ofTerminal are those of them that a terminal sends to the command as well.
	ofTerminal = []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGWINCH}

	// stopping are those that end the wait for the server, when the command has ended.
	stopping = []os.Signal{syscall.SIGHUP, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM}
)

// exitCode returns what a shell would.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
