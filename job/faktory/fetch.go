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
func (c *conn) fetch(ctx context.Context, args []byte) (*held, error) {
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
	if !cs.asked(c.client, queues) {
		_ = meanwhile.Sleep(ctx, fetchTime)
		return nil, nil
	}
	f := job.Fetch{Worker: c.client.name, Session: c.client.session, Queues: queues, Lease: lease}
	for over := time.Now().Add(fetchTime); ; {
		begun := time.Now()
		j, err := c.server.room.fetch(ctx, c.work, c.client, f, max(time.Until(over), 0))
		var h *held
		if j != nil {
			h, err = c.hold(j, begun)
		}
		if err != nil {
			cs.unanswered(c.client, begun)
			return nil, err
		}
		if h != nil || j == nil {
			return h, nil
		}
	}
}

// hold registers that the client has a job, whose claim has begun at a time, unless the job has expired: then it is canceled.
func (c *conn) hold(j *job.Job, begun time.Time) (*held, error) {
	h := &held{client: c.client, jid: jidOf(j), job: j, begun: begun, until: time.Now().Add(reserveOf(j))}
	if at, expires := expiry(j); expires && !at.After(j.Started) {
		within, cancel := context.WithTimeout(c.work, callTime)
		defer cancel()
		_, err := c.server.claimer.Finish(within, h.end(job.Cancel(errors.New("it expired at "+at.Format(time.RFC3339)+", before it was begun"))))
		return nil, err
	}
	h.wire, h.known = appendFetched(make([]byte, 0, len(j.Args)+usualFetched), j), true
	j.Args = nil // which may be large, and are needed no more
	c.server.clients.add(h)
	return h, nil
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
func (s *Server) release(ctx context.Context, h *held) {
	if s.clients.takeHeld(h) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		if _, err := s.claimer.Finish(ctx, h.end(job.ErrStopping)); err != nil {
			s.clients.unanswered(h.client, h.begun)
			s.config.Logger.Warn("faktory: a job that did not reach its client was not released yet; it is tried again", "error", err)
		}
	}
}

// takeHeld unregisters a job, and reports whether it was registered.
func (cs *clients) takeHeld(h *held) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, known := h.client.jobs[h]
	cs.drop(h)
	return known
}

// end returns the end of the attempt with an error, as a handler returns it. The job must not be registered any more.
func (h *held) end(err error) job.End {
	return job.End{Session: h.client.session, ID: h.job.ID, Attempt: h.job.Attempt, Err: err, Job: h.job}
}
