//go:build unix && !linux

package harm

import "errors"

func mount(string, int) error { return errors.New("a file system in memory is mounted on Linux only") }

func unmount(string) error { return nil }
