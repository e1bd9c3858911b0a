//go:build unix

package meanwhile

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopSignals are those by which an operator, or the system, asks a process to end.
var stopSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM}

func signalNumber(sig os.Signal) int { return int(sig.(syscall.Signal)) }

func notifyQuit(c chan<- os.Signal) { signal.Notify(c, syscall.SIGQUIT) }

// quit lets the Go runtime do what it does at QUIT: print the goroutines and exit.
func quit() {
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
	time.Sleep(lastTime) // the signal is on its way to another thread
	os.Exit(exitPanicked)
}
