package dash

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	hour  = 60              // minutes that are drawn
	again = 2 * time.Minute // rows that are this old may still grow
)

// A minute is what all workers did in one, or in another step of a past.
type minute struct {
	all    work
	queues map[string]*work
	kinds  map[string]*work
	levels map[string]level
}

// A level is how many jobs of a queue were queued and running, the most that a worker saw.
type level struct{ queued, running int64 }

// level adds up the queues. Nobody may have looked.
func (m *minute) level() (sum level, seen bool) {
	for _, l := range m.levels {
		sum.queued, sum.running = sum.queued+l.queued, sum.running+l.running
	}
	return sum, len(m.levels) > 0
}

// addUp makes all the sum of the queues, when all rows have been added.
func (m *minute) addUp() {
	m.all = work{}
	for _, w := range m.queues {
		m.all.merge(w)
	}
}

func (m *minute) saw(s *job.Stat) {
	if s.Queued+s.Running == 0 {
		return
	}
	if m.levels == nil {
		m.levels = map[string]level{}
	}
	was := m.levels[s.Queue]
	m.levels[s.Queue] = level{max(was.queued, s.Queued), max(was.running, s.Running)}
}

// Work is what was done with jobs.
type work struct {
	Completed, Failed, Discarded int64 // attempts; Discarded is part of Failed
	Wait, Run                    job.Histogram
}

func (w *work) add(s *job.Stat) {
	w.Completed += s.Completed
	w.Failed += s.Retried + s.Discarded
	w.Discarded += s.Discarded
	w.Wait.Merge(s.Wait)
	w.Run.Merge(s.Run)
}

func (w *work) merge(other *work) {
	w.Completed += other.Completed
	w.Failed += other.Failed
	w.Discarded += other.Discarded
	w.Wait.Merge(other.Wait)
	w.Run.Merge(other.Run)
}

// A past is what was done lately, in steps of equal length. Nobody changes it.
type past struct {
	reach
	end     time.Time // when the step began that is not over
	minutes map[time.Time]*minute
}

// A historian reads the stats of the last hour, once, and from then on those of the minutes that may have changed.
type historian struct {
	store   job.Store
	minutes map[time.Time]*minute
	newest  time.Time // of the minutes, by the store's clock
}

// read is called by one at a time.
func (h *historian) read(ctx context.Context) (*past, error) {
	end := time.Now().UTC().Truncate(time.Minute)
	oldest := end.Add(-hour * time.Minute)
	since := oldest
	if t := h.newest.Add(-again); t.After(since) {
		since = t
	}
	stats, err := h.store.Stats(ctx, job.StatsFilter{Since: since})
	if err != nil {
		return nil, err
	}
	next := map[time.Time]*minute{}
	for at, m := range h.minutes {
		if at.Before(since) && !at.Before(oldest) {
			next[at] = m
		}
	}
	for i := range stats {
		s := &stats[i]
		at := s.Minute.UTC()
		addTo(next, at, s)
		if at.After(h.newest) {
			h.newest = at
		}
	}
	for at, m := range next {
		if !at.Before(since) {
			m.addUp()
		}
	}
	h.minutes = next
	if h.newest.After(end) { // the store's clock is ahead
		end = h.newest
	}
	return &past{reach: reaches[0], end: end, minutes: next}, nil
}

// addTo adds a row to the step that began at a time, but for what addUp does.
func addTo(steps map[time.Time]*minute, at time.Time, s *job.Stat) {
	m := steps[at]
	if m == nil {
		m = &minute{queues: map[string]*work{}, kinds: map[string]*work{}}
		steps[at] = m
	}
	of(m.queues, s.Queue).add(s)
	if s.Kind != "" {
		of(m.kinds, s.Kind).add(s)
	}
	m.saw(s)
}

// of returns the work of a name, made when it is new.
func of(works map[string]*work, name string) *work {
	w := works[name]
	if w == nil {
		w = &work{}
		works[name] = w
	}
	return w
}

// at returns what was done in the step i, of which the last is not over.
func (p *past) at(i int) (time.Time, *minute) {
	at := p.end.Add(time.Duration(i-p.n+1) * p.step)
	if m := p.minutes[at]; m != nil {
		return at, m
	}
	return at, &minute{}
}

// A subject is what is looked at: a queue, a kind, or with neither everything.
type subject struct{ queue, kind string }

// work returns what was done of the subject in a minute, which may be nil.
func (s subject) work(m *minute) *work {
	switch {
	case s.queue != "":
		return m.queues[s.queue]
	case s.kind != "":
		return m.kinds[s.kind]
	}
	return &m.all
}

// level returns how many jobs of the subject there were, if a worker has looked. Nobody counts those of a kind.
func (s subject) level(m *minute) (l level, seen bool) {
	switch {
	case s.queue != "":
		l, seen = m.levels[s.queue]
		return l, seen || len(m.levels) > 0 || m.queues[s.queue] != nil // then no worker found any
	case s.kind != "":
		return level{}, false
	}
	return m.level()
}

// sum adds up the steps from one to another.
func (p *past) sum(from, to int, s subject) work {
	var total work
	for i := from; i < to; i++ {
		_, m := p.at(i)
		if w := s.work(m); w != nil {
			total.merge(w)
		}
	}
	return total
}

// attempts is sum without how long they took.
func (p *past) attempts(from, to int, s subject) (total work) {
	for i := from; i < to; i++ {
		_, m := p.at(i)
		if w := s.work(m); w != nil {
			total.Completed, total.Failed, total.Discarded = total.Completed+w.Completed, total.Failed+w.Failed, total.Discarded+w.Discarded
		}
	}
	return total
}

// recent is what was done in the last five minutes that are over.
func (p *past) recent(s subject) work { return p.sum(hour-6, hour-1, s) }
