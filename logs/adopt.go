package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	adoptEvery = time.Minute
	adoptSoon  = time.Second // after one that failed; then twice as long, and so on
)

// adopting sends what dead processes have left in the same folder, under their identities, while there is a connection. Away
// from the server, it keeps the folder within its bounds.
func (s *Sender) adopting(ctx context.Context) error {
	pause := adoptSoon
	for {
		if s.adoptAll(ctx) {
			pause = adoptEvery
		}
		timer := time.NewTimer(pause)
		pause = min(2*pause, adoptEvery)
		select {
		case <-s.call:
			pause = adoptSoon
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// adoptAll reports whether nothing failed.
func (s *Sender) adoptAll(ctx context.Context) (all bool) {
	entries, err := os.ReadDir(s.spool.folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.errors.report(fmt.Errorf("look for spools: %w", err))
	}
	size := int64(0)
	all = true
	for _, entry := range entries {
		id, err := ParseClient(entry.Name())
		if err != nil || id == s.id || ctx.Err() != nil {
			continue
		}
		left, err := s.adopt(ctx, id, s.o.SpoolBytes-size)
		if err != nil && !errors.Is(err, errLocked) && !errors.Is(err, os.ErrNotExist) && ctx.Err() == nil {
			s.errors.report(fmt.Errorf("send the spool of an earlier process: %w", err))
			all = false
		}
		size += left
	}
	return all
}

// adopt sends the spool of one dead process, if there is a connection, and returns how many bytes are left of it.
func (s *Sender) adopt(ctx context.Context, id Client, limit int64) (left int64, err error) {
	spool, torn, err := openSpool(s.spool.folder, id, limit)
	if err != nil {
		return 0, err
	}
	if torn > 0 {
		s.errors.report(fmt.Errorf("the spool of an earlier process: a torn end of %d bytes was cut", torn))
	}
	a := &adopted{spool: spool, more: make(chan struct{}, 1)}
	defer func() {
		if closing := spool.close(a.known()); err == nil {
			err = closing
		}
		left = spool.bytes()
	}()
	dropped := spool.makeRoom(0, 0, nil)
	if s.right() { // the files have the time of another process, or of a clock that was wrong
		dropped += spool.dropOld(s.o.SpoolAge, 0)
	}
	s.mu.Lock()
	s.stats.Dropped += dropped
	online := s.online
	s.mu.Unlock()
	if !online || spool.empty() {
		return 0, nil
	}
	return 0, meanwhile.Run(ctx, func(ctx context.Context) error { return s.deliver(ctx, id, a) }, meanwhile.Name("spool of "+id.String()))
}
