package faktory

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// lateClaim is how long after a claim has failed the store may still execute it: its command may be under way on a slow network.
const lateClaim = 10 * time.Second

// unansweredClaims is a time in which jobs may have been claimed for a client that are not known here, since the answers to the claims were lost. It is zero if
// there are none.
type unansweredClaims struct {
	since time.Time // when the first of the claims began
	until time.Time // when the last of them failed
}

func (u unansweredClaims) any() bool { return !u.since.IsZero() }

// claimFailed records that a client may hold jobs, claimed since then, that are not known here: a claim has failed that may have claimed them, or the call
// that should have released one.
func (cs *clients) claimFailed(cl *client, since time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cl.unanswered.any() || since.Before(cl.unanswered.since) {
		cl.unanswered.since = since
	}
	cl.unanswered.until = time.Now()
}

// releaseUnknown releases jobs that were claimed by unanswered claims: jobs of the client that started in that time, and are unknown here at two
// checks that are at least a second apart, since a job that was just claimed is about to be known. A job that another server gave to the client in that time
// may be among them, and is run twice. The store's clock is ahead by a time from least to most.
func (cs *clients) releaseUnknown(ctx context.Context, cl *client, least, most time.Duration) error {
	cs.mu.Lock()
	u := cl.unanswered
	cs.mu.Unlock()
	if !u.any() {
		return nil
	}
	now := time.Now()
	jobs, err := cs.runningJobs(ctx, cl)
	if err != nil {
		return err
	}
	cs.mu.Lock()
	known, unknown := cl.ids(), map[job.ID]time.Time{}
	var ends []job.End
	for _, j := range jobs {
		if known[j.ID] != nil || !j.Started.After(u.since.Add(least-time.Second)) || j.Started.After(u.until.Add(most+lateClaim)) {
			continue
		}
		first, found := cl.unknown[j.ID]
		if !found {
			first = now
		}
		if unknown[j.ID] = first; now.Sub(first) >= checkInterval {
			ends = append(ends, job.End{Session: cl.session, ID: j.ID, Attempt: j.Attempt, Err: job.ErrStopping})
		}
	}
	cl.unknown = unknown
	if len(unknown) == 0 && cl.unanswered == u && now.Sub(u.until) > lateClaim {
		cl.unanswered = unansweredClaims{}
	}
	cs.mu.Unlock()
	if len(ends) == 0 {
		return nil
	}
	_, err = cs.server.claimer.Finish(ctx, ends...)
	return err
}
