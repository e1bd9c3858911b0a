//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopSignals returns the signals by which an operator, or the system, asks a process to end. Under nohup, HUP stays
// ignored.
func stopSignals() []os.Signal {
	sigs := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// isHangup reports whether the signal is the one that reports a closed terminal. Programs without a terminal reload their
// settings when they receive it.
func isHangup(sig os.Signal) bool { return sig == syscall.SIGHUP }

// notifyPipe makes c receive the signals that a write to a connection without a reader causes, unless they are ignored. Then
// Go no longer ends the process when that connection is the standard output or error.
func notifyPipe(c chan<- os.Signal) {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(c, syscall.SIGPIPE)
	}
}

// outputIsBroken reports whether the standard output or error has lost its reader. The signal is sent for any connection of
// the process and does not identify it.
func outputIsBroken() bool {
	outputs := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(outputs, 0); err != nil {
		return false
	}
	return (outputs[0].Revents|outputs[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
}

func signalNumber(sig os.Signal) int { return int(sig.(syscall.Signal)) }

func notifyQuit(c chan<- os.Signal) { signal.Notify(c, syscall.SIGQUIT) }

// quit lets the Go runtime handle QUIT as usual: it prints the goroutines and exits.
func quit() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
	time.Sleep(lastTime) // the signal is delivered to another thread
	os.Exit(exitPanicked)
}
