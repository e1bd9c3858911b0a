//go:build unix

package main

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// answers is a pipe on which each call receives its answer, one byte.
var answers = sync.OnceValues(func() (fds [2]int, err error) {
	if err := syscall.Pipe(fds[:]); err != nil {
		return fds, fmt.Errorf("make a pipe: %w", err)
	}
	return fds, nil
})

// oldDriver stands for a function that accepts no ctx: it waits in the kernel for half a second, holding a thread.
func oldDriver() error {
	pipe, err := answers()
	if err != nil {
		return err
	}
	time.AfterFunc(pause, func() { _, _ = syscall.Write(pipe[1], []byte("!")) })
	for {
		_, err := syscall.Read(pipe[0], make([]byte, 1))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
