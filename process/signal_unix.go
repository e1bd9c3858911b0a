//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopSignals are those by which an operator, or the system, asks a process to end. Under nohup HUP stays ignored.
func stopSignals() []os.Signal {
	sigs := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// isHangup reports whether the signal says that the terminal is gone. Programs without one reload their settings by it.
func isHangup(sig os.Signal) bool { return sig == syscall.SIGHUP }

// notifyPipe has c get the signals that come with writing to what has lost its reader, unless they are ignored. Go then ends
// the process no more when that is the standard output or error.
func notifyPipe(c chan<- os.Signal) {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(c, syscall.SIGPIPE)
	}
}

// outputIsBroken reports whether the standard output or error has lost its reader. The signal comes for each connection of
// the process and does not tell which.
func outputIsBroken() bool {
	outputs := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(outputs, 0); err != nil {
		return false
	}
	return (outputs[0].Revents|outputs[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
}

func signalNumber(sig os.Signal) int { return int(sig.(syscall.Signal)) }

func notifyQuit(c chan<- os.Signal) { signal.Notify(c, syscall.SIGQUIT) }

// quit lets the Go runtime do what it does at QUIT: print the goroutines and exit.
func quit() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
	time.Sleep(lastTime) // the signal is on its way to another thread
	os.Exit(exitPanicked)
}
