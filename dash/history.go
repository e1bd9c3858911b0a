package dash

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	hour  = 60              // minutes that charts show
	again = 2 * time.Minute // rows of this age may still change
)

// A minute is the work of all workers in one minute, or in another step of a past.
type minute struct {
	all    work
	queues map[string]*work
	kinds  map[string]*work
	levels map[string]level
}

// A level is the number of queued and running jobs of a queue, the highest that a worker has observed.
type level struct{ queued, running int64 }

// level adds up the queues. seen is false if no worker has observed any.
func (m *minute) level() (sum level, seen bool) {
	for _, l := range m.levels {
		sum.queued, sum.running = sum.queued+l.queued, sum.running+l.running
	}
	return sum, len(m.levels) > 0
}

// addUp sets all to the sum of the queues, after all rows have been added.
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

// A work is the number of attempts by result, and how long they took.
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

// A past is the work of the recent past, in steps of equal length. It is immutable.
type past struct {
	reach
	end     time.Time // start of the current step
	minutes map[time.Time]*minute
}

// A historian reads the statistics of the last hour once, and after that only the minutes that may have changed.
type historian struct {
	store   job.Store
	minutes map[time.Time]*minute
	newest  time.Time // newest of the minutes, by the store's clock
}

// read must not be called concurrently.
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
	if h.newest.After(end) { // the store's clock may be ahead
		end = h.newest
	}
	return &past{reach: reaches[0], end: end, minutes: next}, nil
}

// addTo adds a row to the step that started at a time. The caller calls addUp afterwards.
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

// of returns the work with a name, and creates it if needed.
func of(works map[string]*work, name string) *work {
	w := works[name]
	if w == nil {
		w = &work{}
		works[name] = w
	}
	return w
}

// at returns the work of step i; the last step is the current one.
func (p *past) at(i int) (time.Time, *minute) {
	at := p.end.Add(time.Duration(i-p.n+1) * p.step)
	if m := p.minutes[at]; m != nil {
		return at, m
	}
	return at, &minute{}
}

// A subject is what a page is about: a queue, a kind, or, if both are empty, everything.
type subject struct{ queue, kind string }

// work returns the work of the subject in a minute, which may be nil.
func (s subject) work(m *minute) *work {
	switch {
	case s.queue != "":
		return m.queues[s.queue]
	case s.kind != "":
		return m.kinds[s.kind]
	}
	return &m.all
}

// level returns the number of jobs of the subject, if a worker has observed it. It is not known for kinds.
func (s subject) level(m *minute) (l level, seen bool) {
	switch {
	case s.queue != "":
		l, seen = m.levels[s.queue]
		return l, seen || len(m.levels) > 0 || m.queues[s.queue] != nil // then no worker has found any
	case s.kind != "":
		return level{}, false
	}
	return m.level()
}

// sum adds up the steps [from, to).
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

// attempts is sum without durations.
func (p *past) attempts(from, to int, s subject) (total work) {
	for i := from; i < to; i++ {
		_, m := p.at(i)
		if w := s.work(m); w != nil {
			total.Completed, total.Failed, total.Discarded = total.Completed+w.Completed, total.Failed+w.Failed, total.Discarded+w.Discarded
		}
	}
	return total
}

// recent returns the work of the last five complete minutes.
func (p *past) recent(s subject) work { return p.sum(hour-6, hour-1, s) }
