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

// A minute is what all workers did in one.
type minute struct {
	all    work
	queues map[string]*work
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

// A past is what was done in the last hour. Nobody changes it.
type past struct {
	end     time.Time // the minute that is not over
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
	stats, err := h.store.Stats(ctx, since)
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
		m := next[at]
		if m == nil {
			m = &minute{queues: map[string]*work{}}
			next[at] = m
		}
		w := m.queues[s.Queue]
		if w == nil {
			w = &work{}
			m.queues[s.Queue] = w
		}
		m.all.add(s)
		w.add(s)
		m.saw(s)
		if at.After(h.newest) {
			h.newest = at
		}
	}
	h.minutes = next
	if h.newest.After(end) { // the store's clock is ahead
		end = h.newest
	}
	return &past{end: end, minutes: next}, nil
}

// at returns what was done in the minute that began i minutes after the first of the hour.
func (p *past) at(i int) (time.Time, *minute) {
	at := p.end.Add(time.Duration(i-hour+1) * time.Minute)
	if m := p.minutes[at]; m != nil {
		return at, m
	}
	return at, &minute{}
}

// sum adds up the minutes from one to another, in one queue, or in all with "".
func (p *past) sum(from, to int, queue string) work {
	var total work
	for i := from; i < to; i++ {
		_, m := p.at(i)
		if w := m.queues[queue]; w != nil {
			total.merge(w)
		} else if queue == "" {
			total.merge(&m.all)
		}
	}
	return total
}

// recent is what was done in the last five minutes that are over, in a queue or in all.
func (p *past) recent(queue string) work { return p.sum(hour-6, hour-1, queue) }
