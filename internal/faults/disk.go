//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const diskSize = 128 << 20 // bytes; a minute of jobs takes a quarter of it

// A disk is a small file system, which can be filled up.
type disk struct {
	folder string
	full   bool // it can be filled: it is mounted
}

// newDisk makes one in a folder; without the right to mount it is just the folder, which is never full.
func newDisk(folder string, g *guard) (*disk, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if err := g.tell(hasMount, folder); err != nil {
		return nil, err
	}
	return &disk{folder: folder, full: mount(folder, diskSize) == nil}, nil
}

func (d *disk) filler() string { return filepath.Join(d.folder, "filler") }

// fill takes all the room that is left.
func (d *disk) fill() error {
	file, err := os.Create(d.filler())
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	defer file.Close()
	for part := 1 << 20; part >= 512; {
		_, err := file.Write(make([]byte, part))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			part /= 2
		case err != nil:
			return fmt.Errorf("fill the disk: %w", err)
		}
	}
	return nil
}

// free gives the room back.
func (d *disk) free() error {
	if err := os.Remove(d.filler()); err != nil {
		return fmt.Errorf("free the disk: %w", err)
	}
	return nil
}
