package sqlite

import (
	"errors"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

// A holding is what this process caches of a job that it has claimed: fields that cannot change while it holds the job. With them
// a job is settled without reading it first, by the number of its row, which is never reused.
type holding struct {
	id         job.ID
	seq, class int64
	attempt    int
	limitKey   string
	key        string // the unique key
	until      int64  // when the key is free at the earliest
}

// mostHeld bounds how many holdings are kept: otherwise those of jobs that are never settled would stay.
const mostHeld = 1 << 16

// errStale means that another session has claimed a job: the call is repeated without the holdings.
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

// find returns the holdings of jobs. Unknown ones have a seq of zero.
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

// drop forgets the holdings of settled jobs, except for jobs that continue to run.
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
