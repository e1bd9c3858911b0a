package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

const (
	mostBatched    = 16 << 20               // bytes that wait for the store; append waits while there are more
	storeRetry     = 100 * time.Millisecond // after a failure; twice as long after each further one
	mostStoreRetry = 5 * time.Second
)

// A storeOutput appends the records of many connections to the store, in one task, so that they share its syncs. It retries until the
// store accepts them.
type storeOutput struct {
	store  storage.Store
	logger *slog.Logger
	task   *meanwhile.Task[struct{}]
	wake   chan struct{}

	mu       sync.Mutex
	pending  []*logs.Batch
	open     map[string]*logs.Batch // the pending batch of each service to which more is added
	bytes    int
	added    int64 // records in total
	appended int64
	beside   int64 // records that were appended to the store without this output
	closing  bool
	failure  error
	changed  cond.Cond // of these
	repeated map[string]*storeRepeats
	repeats  int64
	lost     int64
}

// storeRepeats is the state of deduplication of a service.
type storeRepeats struct {
	last  []byte // the encoding of the newest record, from the level on
	level slog.Level
	time  int64 // of the newest repeat
	n     int
}

func newStoreOutput(store storage.Store, logger *slog.Logger) *storeOutput {
	return &storeOutput{
		store: store, logger: logger, wake: make(chan struct{}, 1),
		open: map[string]*logs.Batch{}, repeated: map[string]*storeRepeats{},
	}
}

func (o *storeOutput) start(ctx context.Context) {
	o.task = meanwhile.Go(ctx, o.run, meanwhile.Name("store"))
}

// append adds the encoded records of one service, and returns the place at which they end, for wait.
func (o *storeOutput) append(ctx context.Context, b *logs.Batch, dedupe bool) (end int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.closing || o.bytes > 0 && o.bytes+len(b.Data) > mostBatched {
		if o.closing {
			return o.added, logs.ErrClosed
		}
		if err := o.changed.Wait(ctx, &o.mu); err != nil {
			return o.added, err
		}
	}
	if dedupe {
		o.dedupe(b)
		return o.added, nil
	}
	o.merge(b)
	return o.added, nil
}

// merge adds records to the pending batch of their service.
func (o *storeOutput) merge(b *logs.Batch) {
	if b.Count == 0 {
		return
	}
	into := o.open[b.Service]
	if into == nil || len(into.Data)+len(b.Data) > cap(into.Data) || into.Count+b.Count > logs.MaxBatchRecords {
		before := 0
		if into != nil {
			before = cap(into.Data)
		}
		into = &logs.Batch{Service: b.Service, Min: b.Min, Max: b.Max, Data: batchData(before, len(b.Data))}
		o.open[b.Service] = into
		o.pending = append(o.pending, into)
	}
	into.Data = append(into.Data, b.Data...)
	into.Count += b.Count
	into.Min, into.Max = min(into.Min, b.Min), max(into.Max, b.Max)
	o.bytes += len(b.Data)
	o.added += int64(b.Count)
	cond.Signal(o.wake)
}

// fullBatch is the capacity of the batches of a busy service, whose memory is used again.
const fullBatch = 256 << 10

var fullBatches = sync.Pool{New: func() any { b := make([]byte, 0, fullBatch); return &b }}

// batchData returns memory for the batch of a service whose batch before had this capacity. It has twice as much, so that a service with
// few records uses little memory, and no batch is copied when it grows.
func batchData(before, need int) []byte {
	size := min(2*before, fullBatch)
	switch {
	case need > size:
		return make([]byte, 0, need)
	case size == fullBatch:
		return *fullBatches.Get().(*[]byte)
	}
	return make([]byte, 0, size)
}

// dedupe merges the records that do not repeat the one before.
func (o *storeOutput) dedupe(b *logs.Batch) {
	r := o.repeated[b.Service]
	if r == nil {
		r = &storeRepeats{}
		o.repeated[b.Service] = r
	}
	kept := logs.Batch{Service: b.Service}
	v := logs.View{Service: []byte(b.Service)}
	for data := b.Data; len(data) > 0; {
		rest, err := v.Next(data)
		if err != nil {
			break // a batcher has encoded it
		}
		_, head := binary.Uvarint(data)
		same := data[head+8 : len(data)-len(rest)]
		data = rest
		if bytes.Equal(same, r.last) {
			r.n++
			r.time = v.Time
			o.repeats++
			continue
		}
		if len(kept.Data) > logs.MaxBatch-logs.MaxRecord { // a report may be longer than the records that it stands for
			o.merge(&kept)
			kept = logs.Batch{Service: b.Service, Data: kept.Data[:0]} // merge has copied it
		}
		r.report(&kept)
		r.last, r.level = append(r.last[:0], same...), v.Level
		kept.Add(&v)
	}
	o.merge(&kept)
}

// report adds a record with the number of repeats, if there were some.
func (r *storeRepeats) report(b *logs.Batch) {
	if r.n == 0 {
		return
	}
	v := logs.View{Time: r.time, Level: r.level, Message: []byte("Last message repeated " + strconv.Itoa(r.n) + " times")}
	v.AddAttr(slog.Int("repeated", r.n))
	b.Add(&v)
	r.n = 0
}

func (o *storeOutput) endInterval(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for service, r := range o.repeated {
		b := logs.Batch{Service: service}
		r.time = now.UnixNano()
		r.report(&b)
		o.merge(&b)
	}
	clear(o.repeated)
}

// wait returns when the store has all records up to a place.
func (o *storeOutput) wait(ctx context.Context, end int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.appended < end {
		if err := o.changed.Wait(ctx, &o.mu); err != nil {
			return err
		}
	}
	return nil
}

// appendedBeside counts records that were appended to the store without this output.
func (o *storeOutput) appendedBeside(records int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beside += int64(records)
}

// run appends until the output is closed.
func (o *storeOutput) run(ctx context.Context) error {
	for {
		o.mu.Lock()
		batches, closing := o.pending, o.closing
		o.pending = nil
		clear(o.open)
		o.mu.Unlock()
		if len(batches) > 0 {
			o.appendAll(ctx, batches)
			continue
		}
		if closing {
			return nil
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *storeOutput) appendAll(ctx context.Context, batches []*logs.Batch) {
	records, size := 0, 0
	for _, b := range batches {
		records += b.Count
		size += len(b.Data)
	}
	for retry := storeRetry; ; retry = min(2*retry, mostStoreRetry) {
		err := o.store.Append(ctx, batches...)
		o.mu.Lock()
		if err == nil {
			o.appended += int64(records)
			o.bytes -= size
		}
		first := err != nil && o.failure == nil
		recovered := err == nil && o.failure != nil
		o.failure = err
		o.changed.Broadcast()
		o.mu.Unlock()
		if recovered {
			o.logger.Info("logs: the store takes records again")
		}
		if err == nil {
			for _, b := range batches {
				if cap(b.Data) == fullBatch {
					buf := b.Data[:0]
					fullBatches.Put(&buf)
				}
			}
			return
		}
		if first {
			o.logger.Error("logs: the store does not take records; they wait", "error", err)
		}
		if meanwhile.Sleep(ctx, retry) != nil {
			o.mu.Lock()
			o.lost += int64(records)
			o.mu.Unlock()
			o.logger.Error("logs: records were not stored", "records", records, "error", err)
			return
		}
	}
}

// close ends the task when the store has all records, or when ctx is canceled.
func (o *storeOutput) close(ctx context.Context) {
	o.endInterval(time.Now())
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	cond.Signal(o.wake)
	_, _ = o.task.Wait(ctx)
}
