package faktory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

const (
	mostMessage   = 8 << 10 // bytes of an error that are kept
	mostErrorType = 200
	mostFrames    = 100 // lines of a backtrace
)

// ackArgs is the argument of ACK.
type ackArgs struct {
	ID string `json:"jid"`
}

// ack completes a job. A job that is not known is not an error: its reservation may be over, or it was acknowledged before.
func (c *conn) ack(ctx context.Context, args []byte) (reply, error) {
	var what ackArgs
	if unmarshal(args, &what, scanAck) != nil || what.ID == "" {
		return nil, refuse(`invalid ACK: give {"jid":"…"}`)
	}
	_, err := c.finish(ctx, what.ID, func(*job.Job) error { return nil }, "")
	return ok, err
}

// noType is what the client for Node sends as the type of an error without a code.
const noType = "undefined"

// failArgs is the argument of FAIL.
type failArgs struct {
	ID        string   `json:"jid"`
	Type      string   `json:"errtype"`
	Message   string   `json:"message"`
	Backtrace []string `json:"backtrace"`
}

// fail ends an attempt that failed.
func (c *conn) fail(ctx context.Context, args []byte) (reply, error) {
	var f failArgs
	if json.Unmarshal(args, &f) != nil || f.ID == "" {
		return nil, refuse(`invalid FAIL: give {"jid":"…","errtype":"…","message":"…","backtrace":[…]}`)
	}
	found, err := c.finish(ctx, f.ID, f.err, strings.Join(f.Backtrace[:min(len(f.Backtrace), mostFrames)], "\n"))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, refuse("Job not found %s", f.ID)
	}
	c.server.failures.Add(1)
	return ok, nil
}

// err returns the error with which the attempt has ended, see retriesOf.
func (f *failArgs) err(j *job.Job) error {
	message := short(f.Message, mostMessage)
	if f.Type != "" && f.Type != noType {
		message = short(f.Type, mostErrorType) + ": " + message
	}
	err := errors.New(message)
	switch {
	case j.Meta[metaRetry] == "0":
		return job.Cancel(err)
	case j.Meta[metaRetry] == "-1":
		return retry.Permanent(err)
	case j.Meta[job.MetaID] == "":
		return err // enqueued by a program in Go
	}
	return retry.After(err, backoff(j.Used()-1))
}

// short cuts a text from a client, which is UTF-8, between characters.
func short(text string, most int) string { return string(cut.Prefix([]byte(text), most)) }

// backoff returns how long to wait after the nth retry has failed, 0 being the first attempt.
func backoff(n int) time.Duration {
	n = min(max(n, 0), 1000)
	return time.Duration(n*n*n*n+15+rand.IntN(30)*(n+1)) * time.Second
}

// splitError splits a text that failArgs.err has joined.
func splitError(text string) (kind, message string) {
	if kind, message, found := strings.Cut(text, ": "); found && !strings.ContainsAny(kind, " \t\n") {
		return kind, message
	}
	return "", text
}

// finish ends the attempt of a job that the client runs, and reports whether it is known. end returns what a handler would. What is known here may be
// an earlier attempt, which was ended at another server: then it goes on to another job with this jid, and at last to the running attempt in the store.
func (c *conn) finish(ctx context.Context, jid string, end func(*job.Job) error, stack string) (found bool, err error) {
	cs := &c.server.clients
	for r := cs.remove(c.client, jid); r != nil; r = cs.remove(c.client, jid) {
		if lost, err := c.finishOne(ctx, r, end, stack); err != nil || !lost {
			return err == nil, err
		}
	}
	r, err := c.findReservation(ctx, jid)
	if r == nil {
		return false, err
	}
	lost, err := c.finishOne(ctx, r, end, stack)
	return err == nil && !lost, err
}

// finishOne ends an attempt that is not registered any more, and reports whether it is lost.
func (c *conn) finishOne(ctx context.Context, r *reservation, end func(*job.Job) error, stack string) (lost bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := *r.job
	e := r.end(end(&j))
	e.Job, e.Stack = &j, stack
	if e.Err == nil && r.known { // nobody else ends it here: remove has taken it
		lost, err = r.client.acks.Do(ctx, e)
	} else {
		var ids []job.ID
		ids, err = c.server.claimer.Finish(ctx, e)
		lost = len(ids) > 0
	}
	if err != nil && r.known {
		c.server.clients.add(r) // to be tried again
	}
	return lost, err
}

// finishAll ends attempts of different jobs of a client, and returns which of them are lost.
func (cs *clients) finishAll(ctx context.Context, ends []job.End) ([]bool, error) {
	ctx, cancel := cs.server.withinCall(ctx)
	defer cancel()
	ids, err := cs.server.claimer.Finish(ctx, ends...)
	if err != nil {
		return nil, err
	}
	lost := make([]bool, len(ends))
	for i := range ends {
		lost[i] = slices.Contains(ids, ends[i].ID)
	}
	return lost, nil
}

// findReservation reads a job that another server has given to the client, or this one before a restart.
func (c *conn) findReservation(ctx context.Context, jid string) (*reservation, error) {
	for _, filter := range byJID(jid, job.Filter{States: []job.State{job.Running}, Limit: 100}) {
		jobs, err := c.server.config.Store.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if strings.HasPrefix(j.Worker, namePrefix) && (c.client == nil || c.client.name == j.Worker) {
				return &reservation{client: &client{name: j.Worker, session: sessionOf(j.Worker)}, jid: jid, job: j}, nil
			}
		}
	}
	return nil, nil
}

// byJID returns what matches the filter and has a jid, as filters to apply one after the other: the jid is that of a client, which may be a UUID, or the
// ID of package job.
func byJID(jid string, f job.Filter) []job.Filter {
	f.Meta = map[string]string{job.MetaID: jid}
	filters := []job.Filter{f}
	if id, err := job.ParseID(jid); err == nil {
		f.Meta, f.IDs = nil, []job.ID{id}
		filters = append(filters, f)
	}
	return filters
}

// beat records that a client is alive, and answers with the state that an operator wants.
func (c *conn) beat(ctx context.Context, args []byte) (reply, error) {
	var b struct {
		Worker string `json:"wid"`
		State  string `json:"current_state"`
		Memory int64  `json:"rss_kb"`
	}
	if err := json.Unmarshal(args, &b); err != nil {
		return nil, refuse("BEAT: %s", explain(err))
	}
	cs := &c.server.clients
	cl := cs.find(b.Worker)
	if cl == nil {
		return nil, refuse("unknown worker %s", bytes.ToValidUTF8([]byte(b.Worker[:min(len(b.Worker), mostWorkerID)]), nil))
	}
	cs.mu.Lock()
	cl.beat = time.Now()
	cl.state = max(cl.state, stateOf(b.State))
	cl.info.Memory = uint64(max(b.Memory, 0)) << 10
	cs.mu.Unlock()
	if err := cs.renew(ctx, cl); err != nil {
		return nil, err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if wanted := max(cl.wantedState, cl.state); wanted > running {
		text, err := json.Marshal(map[string]string{"state": stateNames[wanted]})
		return bulk(text), err
	}
	return ok, nil
}
