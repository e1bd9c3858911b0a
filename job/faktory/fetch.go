package faktory

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// jidOf returns the ID by which clients know a job: their own, or that of package job if somebody else enqueued it.
func jidOf(j *job.Job) string {
	if jid := j.Meta[job.MetaID]; jid != "" {
		return jid
	}
	return j.ID.String()
}

// reserveOf returns for how long a client may run a job.
func reserveOf(j *job.Job) time.Duration {
	if j.Timeout == 0 {
		return defaultReserve
	}
	return min(max(j.Timeout, leastReserve), mostReserve)
}

// retriesOf returns the setting retry of a job.
func retriesOf(j *job.Job) int {
	if retry, err := strconv.Atoi(j.Meta[metaRetry]); err == nil {
		return retry
	}
	return j.MaxAttempts - 1
}

// fetch claims a job for the client. It returns nil if there is none within two seconds.
func (c *conn) fetch(ctx context.Context, args []byte) (*reservation, error) {
	queues := strings.Fields(string(args))
	switch {
	case len(queues) == 0:
		return nil, refuse("FETCH: name one queue at least")
	case len(queues) > MaxQueues:
		return nil, refuse("FETCH: %d queues: name at most %d", len(queues), MaxQueues)
	}
	for _, q := range queues {
		if len(q) > job.MaxName || !isQueueName(q) {
			return nil, refuse("FETCH: the queue %.60q: names are of at most %d letters, digits, '.', '_' and '-'", q, job.MaxName)
		}
	}
	cs := &c.server.clients
	if c.client == nil {
		c.client = cs.anonymous()
	}
	if !cs.mayFetch(c.client, queues) {
		_ = meanwhile.Sleep(ctx, fetchTime)
		return nil, nil
	}
	f := job.Fetch{Worker: c.client.name, Session: c.client.session, Queues: queues, Lease: lease}
	for over := time.Now().Add(fetchTime); ; {
		begun := time.Now()
		j, err := c.server.dispatcher.fetch(ctx, c.work, c.client, f, max(time.Until(over), 0))
		var r *reservation
		if j != nil {
			r, err = c.reserve(j, begun)
		}
		if err != nil {
			cs.claimFailed(c.client, begun)
			return nil, err
		}
		if r != nil || j == nil {
			return r, nil
		}
	}
}

// reserve registers that the client has a job, whose claim has begun at a time, unless the job has expired: then it is canceled.
func (c *conn) reserve(j *job.Job, begun time.Time) (*reservation, error) {
	r := &reservation{client: c.client, jid: jidOf(j), job: j, begun: begun, until: time.Now().Add(reserveOf(j))}
	if at, expires := expiry(j); expires && !at.After(j.Started) {
		within, cancel := context.WithTimeout(c.work, callTime)
		defer cancel()
		_, err := c.server.claimer.Finish(within, r.end(job.Cancel(errors.New("it expired at "+at.Format(time.RFC3339)+", before it was begun"))))
		return nil, err
	}
	r.wire, r.known = appendFetched(make([]byte, 0, len(j.Args)+usualFetched), j), true
	j.Args = nil // which may be large, and are needed no more
	c.server.clients.add(r)
	return r, nil
}

// expiry returns the time after which a job must not be started.
func expiry(j *job.Job) (at time.Time, expires bool) {
	text := j.Meta[metaCustom]
	if !strings.Contains(text, "expires_at") {
		return at, false
	}
	var c custom
	if json.Unmarshal([]byte(text), &c) != nil || c.Expires == "" {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, c.Expires)
	return at, err == nil
}

// release releases a job that did not reach its client.
func (s *Server) release(ctx context.Context, r *reservation) {
	if s.clients.removeReservation(r) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		if _, err := s.claimer.Finish(ctx, r.end(job.ErrStopping)); err != nil {
			s.clients.claimFailed(r.client, r.begun)
			s.config.Logger.Warn("faktory: a job that did not reach its client was not released yet; it is tried again", "error", err)
		}
	}
}

// removeReservation unregisters a job, and reports whether it was registered.
func (cs *clients) removeReservation(r *reservation) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, known := r.client.jobs[r]
	cs.drop(r)
	return known
}

// end returns the end of the attempt with an error, as a handler returns it. The job must not be registered any more.
func (r *reservation) end(err error) job.End {
	return job.End{Session: r.client.session, ID: r.job.ID, Attempt: r.job.Attempt, Err: err, Job: r.job}
}
