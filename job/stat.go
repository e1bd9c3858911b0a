package job

import (
	"cmp"
	"slices"
	"time"
)

// A Stat counts what one worker did in one minute with the jobs of one queue and kind. The Histograms of several Stats can be
// merged, and the numbers added.
type Stat struct {
	Minute time.Time `json:"minute"` // when it began, by the store's clock
	// Span is how long the row covers if minutes were added up, see [MergeStats]; zero means a minute. A row with a Span covers all workers.
	Span   time.Duration `json:"span,omitempty"`
	Worker string        `json:"worker"`
	Queue  string        `json:"queue"`
	Kind   string        `json:"kind"` // empty in the rows of a whole queue, and for kinds beyond 200 rows of the minute

	// How many attempts ended in each way. Those that were released or lost are not counted.
	Completed int64 `json:"completed"`
	Retried   int64 `json:"retried"`
	Snoozed   int64 `json:"snoozed"`
	Canceled  int64 `json:"canceled"`
	Discarded int64 `json:"discarded"`

	// How many jobs of the queue were queued and running, by whatever worker: the most that this worker saw, twice a minute. Only
	// rows without a kind have them, and they must not be added up: workers of the same queue see the same jobs.
	Queued  int64 `json:"queued,omitempty"`
	Running int64 `json:"running,omitempty"`

	Wait Histogram `json:"wait"` // from due to claimed, of the attempts that began
	Run  Histogram `json:"run"`  // of the attempts whose end was counted
}

// A StatsFilter selects rows of the statistics. Each field that is set narrows it.
type StatsFilter struct {
	Since time.Time // rows that begin then or later
	Queue string    // rows of one queue: of each of its kinds, and of the queue itself
	Kind  string    // rows of one kind
}

// Matches reports whether the filter selects a row. Stores call it for fields that they do not select by themselves.
func (f *StatsFilter) Matches(s *Stat) bool {
	return !s.Minute.Before(f.Since) && (f.Queue == "" || s.Queue == f.Queue) && (f.Kind == "" || s.Kind == f.Kind)
}

// Total grows with everything that is counted: of two versions of a row the one with the higher Total is newer.
func (s *Stat) Total() int64 {
	return s.Completed + s.Retried + s.Snoozed + s.Canceled + s.Discarded + s.Wait.Count() + s.Run.Count()
}

// merge adds what another row counted.
func (s *Stat) merge(other *Stat) {
	s.Completed += other.Completed
	s.Retried += other.Retried
	s.Snoozed += other.Snoozed
	s.Canceled += other.Canceled
	s.Discarded += other.Discarded
	s.Queued, s.Running = max(s.Queued, other.Queued), max(s.Running, other.Running)
	s.Wait.Merge(other.Wait)
	s.Run.Merge(other.Run)
}

// MergeStats adds up rows by the StatsSpan in which they began, queue and kind, over all workers. For Queued and Running the maximum
// counts. Rows beyond MostStats in one span are counted without their kind, or without their queue as well, so that a store keeps a bounded
// number; rows that were added up before keep theirs. The oldest rows come first. Stores call it.
func MergeStats(rows ...Stat) []Stat {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Stat) int { return cmp.Compare(b.Span, a.Span) })
	type key struct {
		at          int64
		queue, kind string
	}
	found := map[key]*Stat{}
	size := map[int64]int{}
	var merged []*Stat
	for i := range rows {
		row := &rows[i]
		at := row.Minute.UTC().Truncate(StatsSpan)
		k := key{at.Unix(), row.Queue, row.Kind}
		if found[k] == nil && size[k.at] >= MostStats {
			k.kind = ""
			if found[k] == nil {
				k.queue = ""
			}
		}
		s := found[k]
		if s == nil {
			s = &Stat{Minute: at, Span: StatsSpan, Queue: k.queue, Kind: k.kind}
			found[k] = s
			merged = append(merged, s)
			if k.queue+k.kind != "" { // the row for the rest is always allowed
				size[k.at]++
			}
		}
		s.merge(row)
	}
	slices.SortFunc(merged, func(a, b *Stat) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	all := make([]Stat, len(merged))
	for i, s := range merged {
		all[i] = *s
	}
	return all
}
