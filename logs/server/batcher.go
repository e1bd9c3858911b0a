package server

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
)

// A batcher collects the records of one connection between two flushes, in a buffer for each destination. The usual record costs no
// allocation: its line or its encoding is appended to a buffer.
type batcher struct {
	s        *Server
	counts   *inputCounts
	internal bool        // whether its records are reports of the server, which no limit drops and no alert counts
	client   logs.Client // the client of the own protocol that all records are of; zero for other inputs

	// Of the records since the last flush.
	routing *routing
	now     int64 // when the first was added; 0: there is none
	elapsed int64 // nanoseconds from the start of the server to then, by the monotonic clock
	format  linefile.Format
	buffers []*buffer
	index   map[*bufferKey]*buffer
	matched matches

	// Of the service of the last record.
	route   *serviceRoute
	routed  []routedBuffer
	only    *buffer // set if all records go to one output for lines and nowhere else
	records int64
	bytes   int64

	marks []mark // since the last sync
}

type buffer struct {
	*bufferKey
	buf      *[]byte
	count    int
	min, max int64
	last     uint64 // the number of the client's newest record
}

type routedBuffer struct {
	*buffer
	levels *levelFilter
}

// A mark is a place in an output up to which a sync waits.
type mark struct {
	*bufferKey
	end int64
}

// bufferPool has the memory of buffers, which use it from the first record to the flush.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 0, leastBuffer); return &b }}

const (
	leastBuffer = 16 << 10 // the smallest capacity that goes back to the pool
	mostBuffer  = 1 << 20
	manyBuffers = 64 // buffers of one batcher that use the pool; further ones have only the memory that they need
)

func (f *batcher) Add(v *logs.View) {
	p := f.route
	if p == nil || p.name != string(v.Service) {
		p = f.switchTo(v.Service)
	}
	if p.rate != nil && !f.internal && !p.rate.allow(f.elapsed) {
		p.counts.limited.Add(1)
		return
	}
	if f.routing.redactor != nil {
		f.routing.redactor.redact(v)
	}
	if len(v.Message)+len(v.Task)+len(v.Job)+len(v.EncodedAttrs()) > f.s.maxRecord {
		f.cut(v)
	}
	if p.name != string(v.Service) {
		rename(v, p.name)
	}
	f.records++
	f.bytes += int64(len(v.Message))
	at := v.Time
	if at == 0 {
		at = f.now
	}
	if p.alerts != nil && !f.internal {
		v.Time = at
		f.matched.add(p.alerts, v)
	}
	if o := f.only; o != nil {
		f.line(o, v, at)
		return
	}
	for i := range f.routed {
		if o := &f.routed[i]; o.levels.pass(v) {
			f.put(o.buffer, v, at)
		}
	}
}

// line adds the line of a record to a buffer.
func (f *batcher) line(o *buffer, v *logs.View, at int64) {
	if o.raw {
		*o.buf = f.format.AppendRaw(*o.buf, f.route.raw, v, at)
	} else {
		*o.buf = f.format.Append(*o.buf, f.route.head, v, at, o.fraction)
	}
}

// put adds a record to a buffer.
func (f *batcher) put(o *buffer, v *logs.View, at int64) {
	if o.lines != nil {
		f.line(o, v, at)
		return
	}
	v.Time = at
	if o.count == 0 {
		o.min, o.max = at, at
	}
	o.min, o.max = min(o.min, at), max(o.max, at)
	o.count++
	*o.buf = v.Append(*o.buf)
	if o.count == logs.MaxBatchRecords || len(*o.buf) > logs.MaxBatch-logs.MaxRecord {
		f.split(o)
	}
}

// split continues with another buffer, since the size of a batch is bounded.
func (f *batcher) split(o *buffer) {
	full := *o
	f.buffers = append(f.buffers, &full)
	*o = buffer{bufferKey: o.bufferKey, buf: bufferPool.Get().(*[]byte)}
	// The full one must be flushed before the one that continues.
	last := len(f.buffers) - 1
	for i, s := range f.buffers {
		if s == o {
			f.buffers[i], f.buffers[last] = f.buffers[last], f.buffers[i]
			break
		}
	}
}

// prepare reads the clock and the routes for the first record since the last flush.
func (f *batcher) prepare() {
	if f.now == 0 {
		now := time.Now()
		f.now, f.elapsed = now.UnixNano(), int64(now.Sub(f.s.began))
		f.routing = f.s.routing.Load()
	}
}

// switchTo continues with another service.
func (f *batcher) switchTo(service []byte) *serviceRoute {
	f.count()
	f.prepare()
	p, reason := f.routing.route(service)
	f.route, f.routed, f.only = p, f.routed[:0], nil
	if reason != "" {
		f.counts.repair(reason, 1)
	}
	for _, o := range p.outputs {
		f.routed = append(f.routed, routedBuffer{f.buffer(o.bufferKey), o.levels})
	}
	if len(f.routed) == 1 && f.routed[0].lines != nil && f.routed[0].levels == nil {
		f.only = f.routed[0].buffer
	}
	return p
}

// buffer returns the buffer for a key.
func (f *batcher) buffer(key *bufferKey) *buffer {
	if s := f.index[key]; s != nil {
		if s.buf == nil {
			s.buf = f.newRoom()
			f.buffers = append(f.buffers, s)
		}
		return s
	}
	if f.index == nil {
		f.index = make(map[*bufferKey]*buffer)
	}
	s := &buffer{bufferKey: key, buf: f.newRoom()}
	f.index[key] = s
	f.buffers = append(f.buffers, s)
	return s
}

// newRoom returns the memory of another buffer. There may be thousands, since one read may have records of as many services.
func (f *batcher) newRoom() *[]byte {
	if len(f.buffers) < manyBuffers {
		return bufferPool.Get().(*[]byte)
	}
	return new([]byte)
}

// count counts the records since the last switch to another service, or flush.
func (f *batcher) count() {
	if f.records > 0 {
		f.counts.received(f.route.counts, f.now, f.records, f.bytes)
		f.records, f.bytes = 0, 0
	}
}

// cut truncates the message of a record that is too long, and notes at its end how much is missing. Attributes of more than half of the
// bound are left out, and a long task or job is truncated, so that no record is longer than a store accepts.
func (f *batcher) cut(v *logs.View) {
	f.route.counts.cut.Add(1)
	most := f.s.maxRecord
	before := len(v.Message) + len(v.Task) + len(v.Job) + len(v.EncodedAttrs())
	if len(v.EncodedAttrs()) > most/2 {
		v.SetEncodedAttrs(v.EncodedAttrs()[:0])
	}
	v.Task, v.Job = cut.Prefix(v.Task, min(most/8, 1<<10)), cut.Prefix(v.Job, min(most/8, 1<<10))
	v.Message = cut.Prefix(v.Message, most-len(v.EncodedAttrs())-len(v.Task)-len(v.Job))
	missing := before - len(v.Message) - len(v.Task) - len(v.Job) - len(v.EncodedAttrs())
	message := make([]byte, 0, len(v.Message)+40)
	message = append(append(message, v.Message...), " [cut: "...)
	v.Message = append(strconv.AppendInt(message, int64(missing), 10), " bytes more]"...)
}

func (f *batcher) Flush(ctx context.Context) (err error) {
	f.count()
	f.route, f.only, f.routed, f.now = nil, nil, f.routed[:0], 0
	for _, s := range f.buffers {
		if err == nil && len(*s.buf) > 0 {
			var end int64
			if s.lines != nil {
				end, err = s.lines.Append(ctx, *s.buf, s.dedupe, linefile.Received{Client: f.client, Last: s.last})
			} else {
				end, err = s.store.append(ctx, &logs.Batch{Service: s.service, Count: s.count, Min: s.min, Max: s.max, Data: *s.buf}, s.dedupe)
			}
			f.marked(s.bufferKey, end)
		}
		if space := cap(*s.buf); leastBuffer <= space && space <= mostBuffer {
			*s.buf = (*s.buf)[:0]
			bufferPool.Put(s.buf)
		}
		s.buf, s.count, s.last = nil, 0, 0
	}
	f.buffers = f.buffers[:0]
	if len(f.index) > manyBuffers {
		f.buffers, f.index = nil, nil
	}
	if err == nil {
		f.matched.accepted()
	}
	clear(f.matched)
	return err
}

// marked notes up to which place an output has to be on disk at the next sync.
func (f *batcher) marked(key *bufferKey, end int64) {
	for i := range f.marks {
		if m := &f.marks[i]; m.lines == key.lines && m.store == key.store {
			m.end = max(m.end, end)
			return
		}
	}
	f.marks = append(f.marks, mark{key, end})
}

func (f *batcher) Sync(ctx context.Context) error {
	err := f.Flush(ctx)
	for _, m := range f.marks {
		if err != nil {
			break
		}
		if m.lines != nil {
			// Lines of a client are on disk in the journal before they are written.
			err = m.lines.Wait(ctx, m.end, f.s.sync == linefile.SyncAlways && (f.client == logs.Client{} || !m.lines.Journaled()))
		} else {
			err = m.store.wait(ctx, m.end)
		}
	}
	f.marks = f.marks[:0]
	return err
}

func (f *batcher) Refuse(reason string) { f.counts.refuse(reason) }
