package logs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// spillEvery is the interval at which records are written to the spool while the server is unreachable, and at which the spool is synced.
const spillEvery = time.Second

// spilling moves batches from memory to the spool: all while the server is unreachable, the oldest when memory is half full.
func (s *Sender) spilling(ctx context.Context) error {
	timer := time.NewTimer(spillEvery)
	defer timer.Stop()
	away := time.Now() // since when the server has been unreachable; zero while there is a connection
	synced := time.Now()
	for {
		s.mu.Lock()
		s.countDrops()
		online, acked := s.online, s.acked
		s.mu.Unlock()
		if online {
			away = time.Time{}
		} else if away.IsZero() {
			away = time.Now()
		}
		all := !away.IsZero() && time.Since(away) >= spillEvery
		s.spool.trim(acked)
		dropped := s.spool.dropOld(s.o.SpoolAge, acked)
		s.mu.Lock()
		s.stats.Dropped += dropped
		s.mu.Unlock()
		if _, err := s.spillSome(all); err != nil {
			s.errors.report(err)
		}
		if unsaved := s.drops.unsaved(); (s.spool.dirt || unsaved) && time.Since(synced) >= spillEvery {
			synced = time.Now()
			err := s.spool.sync()
			if unsaved {
				err = cmp.Or(err, s.spool.saveDrops())
			}
			if err != nil {
				s.errors.report(err)
			}
		}
		if s.spool.dirt || s.drops.unsaved() || !online {
			timer.Reset(spillEvery)
		}
		if s.drops.owes() {
			cond.Signal(s.owed)
		}
		select {
		case <-s.spill:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// spillSome moves batches to the spool: all of them, or, if memory is more than half full, the oldest until it is a quarter full. In one
// call it moves about as many bytes as a file of the spool has at most, since the spool drops whole files.
func (s *Sender) spillSome(all bool) (n int, err error) {
	s.mu.Lock()
	s.collect()
	if all {
		s.seal()
	}
	before := int(s.used.Load())
	used := before
	for n < len(s.sealed) && (all || before > s.o.MemoryBytes/2 && used > s.o.MemoryBytes/4) {
		if int64(before-used) >= s.spool.each {
			cond.Signal(s.spill)
			break
		}
		used -= s.sealed[n].size()
		n++
	}
	batches := append([]*outBatch(nil), s.sealed[:n]...)
	for _, b := range batches {
		b.busy++
	}
	acked := s.acked
	s.mu.Unlock()
	if n == 0 {
		return 0, nil
	}
	commit, dropped, err := s.spool.write(acked, batches, func(b *outBatch) (head, payload []byte) { return b.frame(s.zstd) })

	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.broadcast()
	known := 0 // batches that were acknowledged in the meantime, and are no longer in s.sealed
	for _, b := range batches {
		b.busy--
		if b.gone {
			known++
			s.reuse(b)
		}
	}
	if err != nil {
		return 0, err
	}
	s.stats.Dropped += dropped
	sent := known + min(n-known, s.sent)
	commit(sent)
	s.forget(n - known)
	return n, nil
}

// spillAll moves all batches to the spool and syncs it.
func (s *Sender) spillAll() error {
	for {
		n, err := s.spillSome(true)
		if err != nil {
			return fmt.Errorf("put records away: %w", err)
		}
		if n == 0 {
			return s.spool.sync()
		}
	}
}
