//go:build !unix

package process

import (
	"os"
	"syscall"
)

// stopSignals returns the signals by which an operator, or the system, asks a process to end. On Windows Go reports by the
// second one that the console is closed, the user logs off or the system shuts down.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// isHangup reports false: there is no such signal.
func isHangup(os.Signal) bool { return false }

// notifyPipe does nothing: there is no such signal.
func notifyPipe(chan<- os.Signal) {}

func outputIsBroken() bool { return false }

// signalNumber returns the number that the signal has on Unix.
func signalNumber(sig os.Signal) int {
	if sig == os.Interrupt {
		return 2
	}
	return 15
}

// notifyQuit does nothing: there is no such signal.
func notifyQuit(chan<- os.Signal) {}

func quit() {}
