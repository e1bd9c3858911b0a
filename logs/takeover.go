package logs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/datafolder"
)

const (
	takeOverEvery = time.Minute
	takeOverSoon  = time.Second // after the first failure; doubled after each further one, up to takeOverEvery
)

// takingOver sends the spools that dead processes have left in the same folder, under their identities, while there is a connection. While
// there is none, it only keeps the folder within its bounds.
func (s *Sender) takingOver(ctx context.Context) error {
	pause, once := takeOverSoon, sync.OnceFunc(func() { close(s.takenOver) })
	for {
		s.mu.Lock()
		online := s.online
		s.mu.Unlock()
		if s.takeOverAll(ctx) {
			pause = takeOverEvery
		}
		if online {
			once()
		}
		timer := time.NewTimer(pause)
		pause = min(2*pause, takeOverEvery)
		select {
		case <-s.connected:
			pause = takeOverSoon
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// waitForTakeover waits until takingOver has tried once to send the spools of dead processes, or the server is unreachable. Without the wait,
// none of many short-lived programs would ever send them.
func (s *Sender) waitForTakeover(ctx context.Context) {
	if s.spool == nil {
		return
	}
	for {
		s.mu.Lock()
		online, changed := s.online, s.changed
		s.mu.Unlock()
		if !online {
			return
		}
		select {
		case <-s.takenOver:
			return
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// takeOverAll takes over the spools of all dead processes, and reports whether nothing failed.
func (s *Sender) takeOverAll(ctx context.Context) (all bool) {
	ids, err := s.leftSpools()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.errors.report(fmt.Errorf("look for spools: %w", err))
	}
	size := int64(0)
	all = true
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		left, err := s.takeOver(ctx, id, s.o.SpoolBytes-size)
		if err != nil && !errors.Is(err, datafolder.ErrLocked) && !errors.Is(err, os.ErrNotExist) && ctx.Err() == nil {
			s.errors.report(fmt.Errorf("send the spool of an earlier process: %w", err))
			all = false
		}
		size += left
	}
	return all
}

// leftSpools returns the identities of the other spools in the folder. The most recently written one comes first: the limit of bytes may
// leave no space for the rest.
func (s *Sender) leftSpools() ([]Client, error) {
	entries, err := os.ReadDir(s.spool.folder)
	written := make(map[Client]time.Time)
	for _, entry := range entries {
		id, wrong := ParseClient(entry.Name())
		if wrong != nil || id == s.id {
			continue
		}
		var last time.Time
		files, _ := os.ReadDir(filepath.Join(s.spool.folder, entry.Name())) // takeOver reports an error
		for _, file := range files {
			if info, wrong := file.Info(); wrong == nil && filepath.Ext(file.Name()) == ".spool" && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
		written[id] = last
	}
	return slices.SortedFunc(maps.Keys(written), func(a, b Client) int { return written[b].Compare(written[a]) }), err
}

// takeOver sends the spool of one dead process, if there is a connection, and returns how many bytes are left of it.
func (s *Sender) takeOver(ctx context.Context, id Client, limit int64) (left int64, err error) {
	spool, torn, err := openSpool(s.spool.folder, id, limit)
	if err != nil {
		return 0, err
	}
	if torn > 0 {
		s.errors.report(fmt.Errorf("the spool of an earlier process: a torn end of %d bytes was cut", torn))
	}
	spool.drops.serve(s.o.Service)
	a := &abandonedSpool{spool: spool, more: make(chan struct{}, 1)}
	defer func() {
		if closing := spool.close(a.known()); err == nil {
			err = closing
		}
		left = spool.bytes()
	}()
	dropped := spool.makeRoom(0, 0, nil)
	if s.clockTrusted() { // the files were dated by another process, so that a wrong clock would make them too old
		dropped += spool.dropOld(s.o.SpoolAge, 0)
	}
	s.mu.Lock()
	s.stats.Dropped += dropped
	online := s.online
	s.mu.Unlock()
	if !online {
		if spool.empty() {
			err = spool.drops.moveTo(s.drops, s.spool.saveDrops)
		}
		return 0, err
	}
	if !spool.empty() {
		err = meanwhile.Run(ctx, func(ctx context.Context) error { return s.deliver(ctx, id, a) }, meanwhile.Name("spool of "+id.String()))
	}
	for err == nil && spool.drops.owes() {
		err = s.report(ctx, spool.drops)
	}
	return 0, err
}
