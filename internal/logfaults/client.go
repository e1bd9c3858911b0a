//go:build unix

package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	burst      = 5 * time.Millisecond // pause between two bursts of records
	mostAtOnce = 500                  // records in a burst
	flushEach  = 50 * time.Millisecond
	flushLimit = 2 * time.Second
	closeLimit = time.Minute
	sendLimit  = 2 * time.Minute // to send what is left in the spool at the end
)

// client runs a client process: it logs as many records as are due until ctx is canceled, and writes to the ledger how far it is.
func (c config) client(ctx context.Context) error {
	before, err := c.before()
	if err != nil {
		return err
	}
	l, err := openLedger(c.ledger)
	if err != nil {
		return err
	}
	handler, err := logs.NewHandler("tcp://"+c.address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{
		Service: serviceOf(c.name), Spool: c.spool, SpoolAge: keepAge,
	}})
	if err != nil {
		return err
	}
	var n atomic.Int64
	if c.last {
		ctx, cancel := context.WithTimeout(ctx, sendLimit)
		defer cancel()
		if err := emptied(ctx, c.spool); err != nil {
			return err
		}
	} else {
		_ = meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error { return flush(ctx, handler, l, &n) }, meanwhile.Name("flush"))
			return c.log(ctx, handler, l, &n, before)
		}, meanwhile.Name("log"))
	}
	// Close the handler even if ctx is canceled.
	return meanwhile.Shield(ctx, closeLimit, func(ctx context.Context) error {
		if err := handler.Close(ctx); err != nil {
			return err
		}
		l.write(closed, int(n.Load()))
		return nil
	})
}

// emptied waits until the server has received all that killed processes have left in the spool.
func emptied(ctx context.Context, spool string) error {
	for {
		left := 0
		err := filepath.WalkDir(spool, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != "lock" {
				left++
			}
			return nil // files may be deleted during the walk
		})
		if err != nil || left == 0 {
			return err
		}
		if err := meanwhile.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d files are left in the spool: %w", left, err)
		}
	}
}

// before returns how many records earlier processes of this client have logged.
func (c config) before() (n int, err error) {
	accounts, err := readLedgers(filepath.Dir(c.ledger))
	for name, a := range accounts {
		if clientOf(name) == clientOf(c.name) {
			n += a.intended
		}
	}
	return n, err
}

// log logs records until ctx is canceled. All records of a client are due after 0.9 of the length of the run.
func (c config) log(ctx context.Context, handler slog.Handler, l *ledger, n *atomic.Int64, before int) error {
	logger := slog.New(jumping{handler})
	share := float64(c.records) / float64(c.clients)
	var message []byte
	for last := 0; ; {
		if err := meanwhile.Sleep(ctx, burst); err != nil {
			return err
		}
		part := harm.Now().Sub(time.Unix(0, c.begun)).Seconds() / (0.9 * c.length.Seconds())
		due := min(int(share*min(part, 1))-before, last+mostAtOnce)
		if due <= last {
			continue
		}
		l.write(intends, due)
		for ; last < due; last++ {
			message = appendMessage(message[:0], c.name, last+1)
			logger.Info(string(message))
		}
		n.Store(int64(due))
		l.write(logged, due)
	}
}

// A jumping handler sets the time of records by the clock that jumps. Package slog reads another clock: see [harm.Go].
type jumping struct{ slog.Handler }

func (h jumping) Handle(ctx context.Context, r slog.Record) error {
	r.Time = time.Now()
	return h.Handler.Handle(ctx, r)
}

// flush flushes again and again, and writes to the ledger which records are acknowledged.
func flush(ctx context.Context, handler *logs.Handler, l *ledger, n *atomic.Int64) error {
	for {
		if err := meanwhile.Sleep(ctx, flushEach); err != nil {
			return err
		}
		upTo := int(n.Load())
		limited, cancel := context.WithTimeout(ctx, flushLimit)
		err := handler.Flush(limited)
		cancel()
		if err == nil {
			l.write(acknowledged, upTo)
		}
	}
}
