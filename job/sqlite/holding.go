package sqlite

import (
	"errors"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

// A holding is what this process knows of a job that it has claimed and that cannot change while it is held. With it a job
// is settled without reading it first, and by the number of its row,
// which is never given to another.
type holding struct {
	id         job.ID
	seq, class int64
	attempt    int
	limitKey   string
	key        string // unique
	until      int64  // when the key is free at the earliest
}

// mostHeld bounds how many holdings are kept: those of jobs that are never settled would else stay.
const mostHeld = 1 << 16

// errStale is for a job that somebody else has taken: the call is made again without the holdings.
var errStale = errors.New("a job that is settled is not held any more")

type holdings struct {
	mu   sync.Mutex
	byID map[job.ID]holding
}

func (h *holdings) add(jobs []stored) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil || len(h.byID)+len(jobs) > mostHeld {
		h.byID = make(map[job.ID]holding, len(jobs))
	}
	for _, j := range jobs {
		h.byID[j.ID] = holding{j.ID, j.seq, j.class, j.Attempt, j.LimitKey, j.UniqueKey, j.Created.Add(j.UniqueFor).UnixMicro()}
	}
}

// find returns the holdings of jobs, a seq of zero for those that are not known.
func (h *holdings) find(outcomes []job.Outcome) []holding {
	found := make([]holding, len(outcomes))
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, o := range outcomes {
		j := o.Job
		if known := h.byID[j.ID]; known.attempt == j.Attempt {
			found[i] = known
		}
	}
	return found
}

// drop forgets jobs that were settled, but for those that go on running.
func (h *holdings) drop(outcomes []job.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range outcomes {
		if o.Job.State != job.Running {
			delete(h.byID, o.Job.ID)
		}
	}
}

func (h *holdings) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.byID)
}
