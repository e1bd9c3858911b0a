package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
)

// reportPause is the shortest time between two reports.
const reportPause = time.Second

// reporting sends reports about dropped records while there is a connection.
func (s *Sender) reporting(ctx context.Context) error {
	for {
		select {
		case <-s.owed:
		case <-ctx.Done():
			return nil
		}
		s.reportAll(ctx)
		if meanwhile.Sleep(ctx, reportPause) != nil {
			return nil
		}
		s.mu.Lock()
		s.countDrops()
		s.mu.Unlock()
		if s.drops.owes() {
			cond.Signal(s.owed)
		}
	}
}

// reportAll sends reports until there is nothing to report, the server is unreachable, or a report fails.
func (s *Sender) reportAll(ctx context.Context) {
	select {
	case s.reporter <- struct{}{}:
		defer func() { <-s.reporter }()
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	s.countDrops()
	s.mu.Unlock()
	for s.drops.owes() {
		s.mu.Lock()
		online := s.online
		s.mu.Unlock()
		if !online || ctx.Err() != nil {
			return
		}
		if err := s.report(ctx, s.drops); err != nil {
			if ctx.Err() == nil {
				s.errors.report(fmt.Errorf("report dropped records: %w", err))
			}
			return
		}
	}
}

// report sends one report, over a connection of its own.
func (s *Sender) report(ctx context.Context, d *dropCount) error {
	number, n, err := d.nextReport()
	if n == 0 || err != nil {
		return err
	}
	v := View{Time: time.Now().UnixNano(), Level: slog.LevelWarn, Message: fmt.Appendf(nil, "%d log records were dropped: memory or spool was full", n)}
	v.AddAttr(slog.Int64("logs.dropped", n))
	b := &outBatch{Batch: Batch{Service: d.service(), Client: d.id, First: number, Last: number}}
	b.add(v.Append(nil), v.Time)
	r := &dropReport{count: d, batch: b, more: make(chan struct{}, 1)}
	return meanwhile.Run(ctx, func(ctx context.Context) error { return s.deliver(ctx, d.id, r) }, meanwhile.Name("report of dropped records"))
}

// A dropReport is the source of a connection that sends one report.
type dropReport struct {
	count *dropCount
	batch *outBatch
	more  chan struct{}

	mu   sync.Mutex
	made bool // next has returned the report
	has  bool // the server has the report
}

func (r *dropReport) ready() <-chan struct{} { return r.more }

func (r *dropReport) reset(last uint64) error {
	r.acknowledged(last)
	return nil
}

func (r *dropReport) next() (f outFrame, wait time.Duration, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.has:
		return f, 0, false, io.EOF
	case r.made:
		return f, 0, false, nil
	}
	r.made = true
	f.head, f.payload = r.batch.frame(nil)
	return f, 0, true, nil
}

func (r *dropReport) sent(outFrame) {}

func (r *dropReport) acknowledged(n uint64) {
	if n < r.batch.Last {
		return
	}
	r.count.reported(r.batch.Last)
	r.mu.Lock()
	r.has = true
	r.mu.Unlock()
	cond.Signal(r.more)
}
