package server

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
)

// addBatch checks the batch of a data frame and adds it to the pending ones, once there is memory for it.
func (c *session) addBatch(ctx context.Context, f logwire.Frame) error {
	h, payload, err := logwire.ParseData(f.Body)
	if err != nil {
		logwire.GiveBuffer(f.Room)
		return err
	}
	if h.First <= c.last {
		logwire.GiveBuffer(f.Room)
		return fmt.Errorf("%w: number %d does not follow %d", logwire.ErrBody, h.First, c.last)
	}
	p := pending{buf: f.Room, held: h.Size, batch: logs.Batch{
		Service: string(cut.Prefix(h.Service, logs.MaxServiceRead)), Client: c.client, First: h.First, Last: h.Last, Count: h.Count, Min: h.Min, Max: h.Max, Data: payload,
	}}
	if err := c.makeRoom(ctx, p.held); err != nil {
		logwire.GiveBuffer(f.Room)
		return err
	}
	if h.Compression == logwire.CompressZstd {
		p.buf = logwire.TakeBuffer(h.Size)
		p.batch.Data, err = logwire.Decompress(c.s.decompressor(), p.buf, payload, h.Size)
		logwire.GiveBuffer(f.Room)
	}
	if err == nil {
		err = checkBatch(&p.batch)
	}
	if err != nil {
		c.free(p)
		return err
	}
	c.last = h.Last
	c.mu.Lock()
	failed := c.failed
	if failed == nil {
		c.pending = append(c.pending, p)
		c.size += p.held
	}
	c.mu.Unlock()
	if failed != nil {
		c.free(p)
		return failed
	}
	cond.Signal(c.more)
	return nil
}

// makeRoom waits until there is memory for a batch that was read, even if the session has to stop: there is always enough for one batch. It
// returns an error if nothing is appended any more.
func (c *session) makeRoom(ctx context.Context, size int) error {
	for {
		c.mu.Lock()
		failed, fits := c.failed, c.size == 0 || c.size+size <= c.s.c.Pending
		c.mu.Unlock()
		if failed != nil {
			return failed
		}
		if fits {
			return c.s.c.Memory.Acquire(ctx, size)
		}
		select {
		case <-c.less:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// keep appends pending batches and acknowledges them, until nothing more is added.
func (c *session) keep(ctx context.Context) error {
	var batches []*logs.Batch
	var taken []pending
	for {
		c.mu.Lock()
		taken, c.pending = c.pending, taken[:0]
		ended := c.ended
		c.mu.Unlock()
		if len(taken) == 0 {
			if ended {
				return nil
			}
			select {
			case <-c.more:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		batches = batches[:0]
		for i := range taken {
			batches = append(batches, &taken[i].batch)
		}
		last := batches[len(batches)-1].Last
		err := c.s.acceptor.Append(ctx, batches...)
		size := 0
		for _, p := range taken {
			size += p.held
			c.free(p)
		}
		clear(taken)
		c.mu.Lock()
		c.size -= size
		c.mu.Unlock()
		cond.Signal(c.less)
		if err != nil {
			err = &unavailable{err}
		} else {
			err = c.send(logwire.AppendNumber(nil, logwire.KindAck, last))
		}
		if err != nil {
			return err
		}
	}
}

// fail stops the reading after an error of keep, and frees the batches that nobody appends now, so that other sessions have their memory.
func (c *session) fail(why error) {
	c.stop(why)
	c.mu.Lock()
	left := c.pending
	c.failed, c.pending = why, nil
	c.mu.Unlock()
	for _, p := range left {
		c.free(p)
	}
	cond.Signal(c.less)
}

func (c *session) free(p pending) {
	logwire.GiveBuffer(p.buf)
	c.s.c.Memory.Release(p.held)
}

// checkBatch reads every record of a batch, and returns an error if one is malformed, or if the batch has not what the frame says.
func checkBatch(b *logs.Batch) error {
	count, oldest, newest := 0, b.Max, b.Min
	var v logs.View
	for data := b.Data; len(data) > 0; count++ {
		rest, err := v.Next(data)
		if err == nil {
			err = v.Check()
		}
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", logwire.ErrBody, count+1, err)
		}
		oldest, newest = min(oldest, v.Time), max(newest, v.Time)
		data = rest
	}
	if count != b.Count || oldest != b.Min || newest != b.Max {
		return fmt.Errorf("%w: count or times are not those of its records", logwire.ErrBody)
	}
	return nil
}
