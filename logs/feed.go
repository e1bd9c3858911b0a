package logs

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cut"
)

// A feed gathers what one connection brings between two flushes, by where it goes. The usual record costs no allocation: it
// becomes a line, or its encoding, in a buffer.
type feed struct {
	s      *Server
	way    *wayCounts
	own    bool   // its records are reports of the server, which no limit leaves out and no alert counts
	client Client // whose records these are, and nobody else's; the zero one: of no matter whom

	// Of the records since the last flush.
	routing *routing
	now     int64 // when the first was added; 0: there is none
	format  lineFormat
	stages  []*stage
	index   map[*stageKey]*stage
	matched matches

	// Of the service of the last record.
	plan    *servicePlan
	turned  []gatedStage
	only    *stage // when there is nothing but one output for lines, which takes all
	records int64
	bytes   int64

	marks []mark // since the last sync
}

type stage struct {
	*stageKey
	buf      *[]byte
	count    int
	min, max int64
	last     uint64 // the number of the client's newest record
}

type gatedStage struct {
	*stage
	gate *levelGate
}

// A mark is a place in an output.
type mark struct {
	*stageKey
	end int64
}

// stageRoom are the buffers of stages, which hold them from the first record to the flush.
var stageRoom = sync.Pool{New: func() any { b := make([]byte, 0, leastStageRoom); return &b }}

const (
	leastStageRoom = 16 << 10 // of a buffer that is kept
	mostStageRoom  = 1 << 20
	manyStages     = 64 // of one feed; further ones have as much room as they need, and are not kept
)

func (f *feed) Add(v *View) {
	p := f.plan
	if p == nil || p.name != string(v.Service) {
		p = f.turn(v.Service)
	}
	if p.rate != nil && !f.own && !p.rate.take(f.now) {
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
	if p.alerts != nil && !f.own {
		v.Time = at
		f.matched.add(p.alerts, v)
	}
	if o := f.only; o != nil {
		f.line(o, v, at)
		return
	}
	for i := range f.turned {
		if o := &f.turned[i]; o.gate.take(v) {
			f.put(o.stage, v, at)
		}
	}
}

// line adds the line of a record to a stage.
func (f *feed) line(o *stage, v *View, at int64) {
	if o.raw {
		*o.buf = f.format.appendRaw(*o.buf, f.plan.raw, v, at)
	} else {
		*o.buf = f.format.append(*o.buf, f.plan.head, v, at, o.fraction)
	}
}

// put adds a record to a stage.
func (f *feed) put(o *stage, v *View, at int64) {
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
	if o.count == MaxBatchRecords || len(*o.buf) > MaxBatch-MaxRecord {
		f.split(o)
	}
}

// split goes on with another stage, because a batch has bounds.
func (f *feed) split(o *stage) {
	full := *o
	f.stages = append(f.stages, &full)
	*o = stage{stageKey: o.stageKey, buf: stageRoom.Get().(*[]byte)}
	// In order: the full one comes before the one that goes on.
	last := len(f.stages) - 1
	for i, s := range f.stages {
		if s == o {
			f.stages[i], f.stages[last] = f.stages[last], f.stages[i]
			break
		}
	}
}

// turn turns to another service.
func (f *feed) turn(service []byte) *servicePlan {
	f.count()
	if f.now == 0 {
		f.now = time.Now().UnixNano()
		f.routing = f.s.routing.Load()
	}
	p, reason := f.routing.plan(service)
	f.plan, f.turned, f.only = p, f.turned[:0], nil
	if reason != "" {
		f.way.repair(reason, 1)
	}
	for _, o := range p.outputs {
		f.turned = append(f.turned, gatedStage{f.stage(o.stageKey), o.gate})
	}
	if len(f.turned) == 1 && f.turned[0].lines != nil && f.turned[0].gate == nil {
		f.only = f.turned[0].stage
	}
	return p
}

// stage returns the stage for a key.
func (f *feed) stage(key *stageKey) *stage {
	if s := f.index[key]; s != nil {
		if s.buf == nil {
			s.buf = f.room()
			f.stages = append(f.stages, s)
		}
		return s
	}
	if f.index == nil {
		f.index = make(map[*stageKey]*stage)
	}
	s := &stage{stageKey: key, buf: f.room()}
	f.index[key] = s
	f.stages = append(f.stages, s)
	return s
}

// room returns the buffer for another stage: one read may bring records of thousands of services.
func (f *feed) room() *[]byte {
	if len(f.stages) < manyStages {
		return stageRoom.Get().(*[]byte)
	}
	return new([]byte)
}

// count counts the records since the last turn.
func (f *feed) count() {
	if f.records > 0 {
		f.plan.counts.heard.Store(f.now)
		f.plan.counts.records.Add(f.records)
		f.plan.counts.bytes.Add(f.bytes)
		f.way.records.Add(f.records)
		f.way.bytes.Add(f.bytes)
		f.records, f.bytes = 0, 0
	}
}

// cut cuts a message, and says how much is missing. Attributes that are too long by themselves are left out, and of a long task
// and job there is the beginning: no record is longer than a store takes.
func (f *feed) cut(v *View) {
	f.plan.counts.cut.Add(1)
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

func (f *feed) Flush(ctx context.Context) (err error) {
	f.count()
	f.plan, f.only, f.turned, f.now = nil, nil, f.turned[:0], 0
	for _, s := range f.stages {
		if err == nil && len(*s.buf) > 0 {
			var end int64
			if s.lines != nil {
				end, err = s.lines.append(ctx, *s.buf, s.cull, heard{f.client, s.last})
			} else {
				end, err = s.store.append(ctx, &Batch{Service: s.service, Count: s.count, Min: s.min, Max: s.max, Data: *s.buf}, s.cull)
			}
			f.marked(s.stageKey, end)
		}
		if room := cap(*s.buf); leastStageRoom <= room && room <= mostStageRoom {
			*s.buf = (*s.buf)[:0]
			stageRoom.Put(s.buf)
		}
		s.buf, s.count, s.last = nil, 0, 0
	}
	f.stages = f.stages[:0]
	if len(f.index) > manyStages {
		f.stages, f.index = nil, nil
	}
	if err == nil {
		f.matched.accepted()
	}
	clear(f.matched)
	return err
}

// marked notes how far an output is to be on disk at the next sync.
func (f *feed) marked(key *stageKey, end int64) {
	for i := range f.marks {
		if m := &f.marks[i]; m.lines == key.lines && m.store == key.store {
			m.end = max(m.end, end)
			return
		}
	}
	f.marks = append(f.marks, mark{key, end})
}

func (f *feed) Sync(ctx context.Context) error {
	err := f.Flush(ctx)
	for _, m := range f.marks {
		if err != nil {
			break
		}
		if m.lines != nil {
			// What is a client's is on disk in the journal before it is written.
			err = m.lines.wait(ctx, m.end, f.s.sync == SyncAlways && (f.client == Client{} || !m.lines.journaled()))
		} else {
			err = m.store.wait(ctx, m.end)
		}
	}
	f.marks = f.marks[:0]
	return err
}

func (f *feed) Refuse(reason string) { f.way.refuse(reason) }
