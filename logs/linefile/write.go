package linefile

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// run writes until the output is closed.
func (o *Output) run(ctx context.Context) error {
	idle := time.NewTimer(idleOutput)
	defer idle.Stop()
	for {
		lines, from, reopen, closing := o.takePending()
		if len(lines) > 0 {
			o.writeAll(ctx, lines, from)
		}
		o.syncAsked(ctx, reopen || closing)
		if reopen || closing {
			if err := o.target.close(); err != nil {
				o.logger.Error("logs: close an output", "output", o.name, "error", err)
			}
		}
		o.mu.Lock()
		more := len(o.pending) > 0 || o.reopen
		o.mu.Unlock()
		switch {
		case more:
			continue
		case closing:
			return nil
		}
		idle.Reset(idleOutput)
		select {
		case <-o.wake:
		case <-idle.C:
			o.rest(ctx)
		case <-ctx.Done(): // canceled: there is no time for more than one try
			o.mu.Lock()
			o.closing = true
			o.mu.Unlock()
		}
	}
}

func (o *Output) takePending() (lines []byte, from []Received, reopen, closing bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) > 0 {
		lines, o.pending = o.pending, nil
		from, o.from = o.from, nil
		if len(o.received) > maxClients {
			clear(o.received)
			for _, h := range from {
				o.received[h.Client] = h.Last
			}
		}
	}
	reopen, closing = o.reopen, o.closing
	o.reopen = false
	return lines, from, reopen, closing
}

// rest releases the buffers and closes the file while there is nothing to write.
func (o *Output) rest(ctx context.Context) {
	o.syncAsked(ctx, true)
	_ = o.target.close()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 {
		o.pending, o.spare = nil, nil
	}
}

// writeAll writes lines, and retries until it succeeds.
func (o *Output) writeAll(ctx context.Context, lines []byte, from []Received) {
	buf, size := lines[:0], len(lines)
	retry := firstRetry
	for len(lines) > 0 {
		n, err := o.target.write(ctx, lines, from)
		lines = lines[n:]
		o.mu.Lock()
		o.written += int64(n)
		o.memory.waiting.Add(int64(-n))
		first := err != nil && o.failure == nil
		recovered := err == nil && o.failure != nil
		o.failure = err
		o.changed.Broadcast()
		o.mu.Unlock()
		switch {
		case first:
			o.logger.Error("logs: an output fails; its records wait", "output", o.name, "error", err)
		case recovered:
			o.logger.Info("logs: an output works again", "output", o.name)
		}
		if err == nil {
			continue
		}
		if n > 0 {
			retry = firstRetry
		}
		if meanwhile.Sleep(ctx, retry) != nil {
			o.giveUp(lines, err)
			return
		}
		retry = min(2*retry, lastRetry)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if size <= mostLines && o.spare == nil {
		o.spare = buf
	}
}

// giveUp counts the lines that are lost at the end of the process: these, and those that wait, since nothing may follow an incomplete
// line.
func (o *Output) giveUp(lines []byte, err error) {
	o.mu.Lock()
	lost := len(lines) + len(o.pending)
	o.pending, o.from, o.closing = nil, nil, true
	o.lost += int64(lost)
	o.memory.waiting.Add(int64(-lost))
	o.changed.Broadcast()
	o.mu.Unlock()
	o.logger.Error("logs: "+lineDamaged, "output", o.name, "bytes", lost, "error", err)
}

// syncAsked syncs if a sync was asked for.
func (o *Output) syncAsked(ctx context.Context, anyway bool) {
	o.mu.Lock()
	written := o.written
	needed := o.synced < written && (anyway || o.asked > o.synced)
	o.mu.Unlock()
	retry := firstRetry
	for needed {
		err := o.target.sync()
		o.mu.Lock()
		if err == nil {
			o.synced = written
		}
		o.failure = err
		o.changed.Broadcast()
		o.mu.Unlock()
		if err == nil {
			return
		}
		o.logger.Error("logs: sync an output", "output", o.name, "error", err)
		if meanwhile.Sleep(ctx, retry) != nil {
			return
		}
		retry = min(2*retry, lastRetry)
	}
}
