package job

import "time"

// A Stat is what one worker did in one minute with the jobs of one queue and kind. The Histograms of several can be merged,
// and the numbers added.
type Stat struct {
	Minute time.Time `json:"minute"` // when it began, by the store's clock
	Worker string    `json:"worker"`
	Queue  string    `json:"queue"`
	Kind   string    `json:"kind"` // empty in the rows of a whole queue, and for what is beyond 200 rows of the minute

	// How many attempts ended so. Those that were put back or lost are not counted.
	Completed int64 `json:"completed"`
	Retried   int64 `json:"retried"`
	Snoozed   int64 `json:"snoozed"`
	Canceled  int64 `json:"canceled"`
	Discarded int64 `json:"discarded"`

	// How many jobs of the queue were queued and running, by whatever worker: the most when this one looked, twice a minute. In
	// rows without a kind only, and not to be added up: workers of the same queue see the same jobs.
	Queued  int64 `json:"queued,omitempty"`
	Running int64 `json:"running,omitempty"`

	Wait Histogram `json:"wait"` // from due to claimed, of the attempts that began
	Run  Histogram `json:"run"`  // of the attempts that ended as counted
}

// Total grows with all that is counted: of two versions of a row the one with the higher Total is the newer.
func (s *Stat) Total() int64 {
	return s.Completed + s.Retried + s.Snoozed + s.Canceled + s.Discarded + s.Wait.Count() + s.Run.Count()
}
