//go:build unix

package send

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	// forwarded are the signals that are passed on to the command.
	forwarded = []os.Signal{
		syscall.SIGHUP, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}

	// ofTerminal are those that a terminal sends, for its keys and its size, to all processes in its foreground.
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

// inForeground reports whether this process, and so the command, is in the foreground of its terminal. Its input says nothing about that.
func inForeground() bool {
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(terminal) }()
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
