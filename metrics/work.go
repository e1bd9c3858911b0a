package metrics

import "github.com/meanwhile-go/meanwhile/job"

// work returns how many seconds one slot would take for the queued jobs, by queue. A kind that has not run in this process yet counts with the
// average of the other kinds of its queue; a queue without a kind that has run is left out.
func (a *attempts) work(counts []job.Count) map[string]float64 {
	type sum struct{ known, unknown, seconds float64 }
	sums := map[string]sum{}
	for _, c := range counts {
		if c.State != job.Queued {
			continue
		}
		s := sums[c.Queue]
		if mean, ok := a.mean(c.Queue, c.Kind); ok {
			s.known += float64(c.N)
			s.seconds += float64(c.N) * mean
		} else {
			s.unknown += float64(c.N)
		}
		sums[c.Queue] = s
	}
	work := make(map[string]float64, len(sums))
	for queue, s := range sums {
		if s.known > 0 {
			work[queue] = s.seconds * (s.known + s.unknown) / s.known
		}
	}
	return work
}

func (a *attempts) mean(queue, kind string) (seconds float64, known bool) {
	l := a.lookup(a.labels(queue, kind))
	if l == nil {
		return 0, false
	}
	return l.mean.load()
}
