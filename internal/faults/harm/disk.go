//go:build unix

package harm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A Disk is a small file system that can be filled.
type Disk struct {
	Folder  string
	CanFill bool // a file system is mounted at Folder
}

// NewDisk creates folder and mounts a file system of size bytes there. Without the right to mount, the disk is just the folder, which is never full.
func NewDisk(folder string, size int, g *Guard) (*Disk, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if err := g.Report(HasMount, folder); err != nil {
		return nil, err
	}
	return &Disk{Folder: folder, CanFill: mount(folder, size) == nil}, nil
}

func (d *Disk) filler() string { return filepath.Join(d.Folder, "filler") }

// Fill uses up all free space.
func (d *Disk) Fill() error {
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

// Free frees the space that Fill has used.
func (d *Disk) Free() error {
	if err := os.Remove(d.filler()); err != nil {
		return fmt.Errorf("free the disk: %w", err)
	}
	return nil
}

// Faults returns the fault that fills the disk, or none if it cannot be filled.
func (d *Disk) Faults() []Fault {
	if !d.CanFill {
		return nil
	}
	return []Fault{{Name: "disk full", Weight: 1, Inject: func(_ context.Context, r *rand.Rand) (Repair, error) {
		free := func(context.Context) error { return d.Free() }
		return Repair{After: time.Duration(300+r.IntN(2200)) * time.Millisecond, Undo: free}, d.Fill()
	}}}
}
