package faktory

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// lateClaim is how long after a claim has failed the store may still execute it: its command may be under way on a slow network.
const lateClaim = 10 * time.Second

// A doubt is a time in which jobs may have been claimed for a client that are not known here, since the answers to the claims were lost. It is zero if
// there are none.
type doubt struct {
	since time.Time // when the first of the claims began
	until time.Time // when the last of them failed
}

func (d doubt) any() bool { return !d.since.IsZero() }

// unanswered records that a client may hold jobs, claimed since then, that are not known here: a claim has failed that may have claimed them, or the call
// that should have released one.
func (cs *clients) unanswered(cl *client, since time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cl.doubt.any() || since.Before(cl.doubt.since) {
		cl.doubt.since = since
	}
	cl.doubt.until = time.Now()
}

// releaseUnknown releases jobs that were claimed by unanswered claims: jobs of the client that started in the time in doubt, and are unknown here at two
// checks that are at least a second apart, since a job that was just claimed is about to be known. A job that another server gave to the client in that time
// may be among them, and is run twice. The store's clock is ahead by a time from least to most.
func (cs *clients) releaseUnknown(ctx context.Context, cl *client, least, most time.Duration) error {
	cs.mu.Lock()
	d := cl.doubt
	cs.mu.Unlock()
	if !d.any() {
		return nil
	}
	now := time.Now()
	jobs, err := cs.heldBy(ctx, cl)
	if err != nil {
		return err
	}
	cs.mu.Lock()
	known, suspect := cl.ids(), map[job.ID]time.Time{}
	var ends []job.End
	for _, j := range jobs {
		if known[j.ID] != nil || !j.Started.After(d.since.Add(least-time.Second)) || j.Started.After(d.until.Add(most+lateClaim)) {
			continue
		}
		first, found := cl.suspect[j.ID]
		if !found {
			first = now
		}
		if suspect[j.ID] = first; now.Sub(first) >= checkInterval {
			ends = append(ends, job.End{Session: cl.session, ID: j.ID, Attempt: j.Attempt, Err: job.ErrStopping})
		}
	}
	cl.suspect = suspect
	if len(suspect) == 0 && cl.doubt == d && now.Sub(d.until) > lateClaim {
		cl.doubt = doubt{}
	}
	cs.mu.Unlock()
	if len(ends) == 0 {
		return nil
	}
	_, err = cs.server.claimer.Finish(ctx, ends...)
	return err
}
