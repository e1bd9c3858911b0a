package logs

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/internal/cut"
)

// take checks the batch of a data frame and leaves it to be kept, once there is room.
func (c *session) take(ctx context.Context, f frame) error {
	h, payload, err := parseData(f.body)
	if err != nil {
		giveBuffer(f.room)
		return err
	}
	if h.first <= c.last {
		giveBuffer(f.room)
		return fmt.Errorf("%w: number %d does not follow %d", errFrameBody, h.first, c.last)
	}
	p := pending{room: f.room, held: h.size, batch: Batch{
		Service: string(cut.Prefix(h.service, MaxServiceRead)), Client: c.client, First: h.first, Last: h.last, Count: h.count, Min: h.min, Max: h.max, Data: payload,
	}}
	if err := c.makeRoom(ctx, p.held); err != nil {
		giveBuffer(f.room)
		return err
	}
	if h.compression == compressZstd {
		p.room = takeBuffer(h.size)
		p.batch.Data, err = decompress(c.s.decompressor(), p.room, payload, h.size)
		giveBuffer(f.room)
	}
	if err == nil {
		err = checkBatch(&p.batch)
	}
	if err != nil {
		c.free(p)
		return err
	}
	c.last = h.last
	c.mu.Lock()
	c.pending = append(c.pending, p)
	c.size += p.held
	c.mu.Unlock()
	cond.Signal(c.more)
	return nil
}

// makeRoom waits until there is room for a batch that was read, also when the session is to stop: for one there always is.
func (c *session) makeRoom(ctx context.Context, size int) error {
	for {
		c.mu.Lock()
		fits := c.size == 0 || c.size+size <= c.s.c.Pending
		c.mu.Unlock()
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

// keep appends what has gathered and acknowledges it, until nothing more comes. A failure stops the reading.
func (c *session) keep(ctx context.Context) error {
	var batches []*Batch
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
			err = c.send(appendNumber(nil, frameAck, last))
		}
		if err != nil {
			c.stop(err)
			return err
		}
	}
}

func (c *session) free(p pending) {
	giveBuffer(p.room)
	c.s.c.Memory.Release(p.held)
}

// checkBatch reads every record, so that what is kept is what the frame says.
func checkBatch(b *Batch) error {
	count, oldest, newest := 0, b.Max, b.Min
	var v View
	for data := b.Data; len(data) > 0; count++ {
		rest, err := v.Next(data)
		if err == nil {
			err = v.Check()
		}
		if err != nil {
			return fmt.Errorf("%w: record %d: %w", errFrameBody, count+1, err)
		}
		oldest, newest = min(oldest, v.Time), max(newest, v.Time)
		data = rest
	}
	if count != b.Count || oldest != b.Min || newest != b.Max {
		return fmt.Errorf("%w: count or times are not those of its records", errFrameBody)
	}
	return nil
}
