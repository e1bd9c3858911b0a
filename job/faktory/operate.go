package faktory

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostCounted is up to how many scheduled jobs, and jobs to retry, are counted: they are counted one by one.
const mostCounted = 1000

// info answers with the numbers of jobs, and with the state of the server.
func (c *conn) info(ctx context.Context, _ []byte) (reply, error) {
	store := c.server.config.Store
	counts, err := store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	queues, sets := map[string]int64{}, map[string]int64{"scheduled": 0, "retries": 0, "dead": 0, "working": 0}
	var enqueued, processed int64
	for _, n := range counts {
		switch n.State {
		case job.Queued:
			queues[n.Queue] += n.N
			enqueued += n.N
		case job.Running:
			sets["working"] += n.N
		case job.Discarded:
			sets["dead"] += n.N
			processed += n.N
		default:
			processed += n.N
		}
	}
	now := time.Now().UTC()
	for set, state := range map[string]job.State{"scheduled": job.Scheduled, "retries": job.Retrying} {
		jobs, err := store.List(ctx, job.Filter{States: []job.State{state}, Limit: mostCounted})
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if !j.RunAt.After(now) {
				continue
			}
			sets[set]++
			if queues[j.Queue] > 0 { // the job may be newer than the count
				queues[j.Queue]--
				enqueued--
			}
		}
	}
	text, err := json.Marshal(map[string]any{
		"now":             now.Format(time.RFC3339Nano),
		"server_utc_time": now.Format("15:04:05 UTC"),
		"faktory": map[string]any{
			"queues": queues, "sets": sets, "tasks": map[string]any{},
			"total_failures": c.server.failures.Load(), "total_processed": processed, "total_enqueued": enqueued, "total_queues": len(queues),
		},
		"server": map[string]any{
			"description": "meanwhile", "faktory_version": "1.10.0", "uptime": int64(time.Since(c.server.started) / time.Second),
			"connections": c.server.connections(), "command_count": c.server.commands.Load(), "used_memory_mb": memory() >> 20,
		},
	})
	return bulk(text), err
}

func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// flush deletes all jobs that do not run.
func (c *conn) flush(ctx context.Context, _ []byte) (reply, error) {
	if !c.server.config.Flush {
		return nil, refuse("FLUSH is not allowed: it would delete all jobs of the store, those of other programs too")
	}
	_, err := job.Apply(ctx, c.server.config.Store, job.Filter{}, job.ActionDelete)
	return ok, err
}

// queue pauses, resumes, empties or measures queues.
func (c *conn) queue(ctx context.Context, args []byte) (reply, error) {
	words := strings.Fields(string(args))
	if len(words) < 2 {
		return nil, refuse("QUEUE: give PAUSE, RESUME, REMOVE or LATENCY, and the names of queues or *")
	}
	if !slices.Contains([]string{"PAUSE", "RESUME", "REMOVE", "LATENCY"}, words[0]) {
		return nil, refuse("no such QUEUE subcommand: %.40s", words[0])
	}
	store := c.server.config.Store
	infos, err := store.Queues(ctx)
	if err != nil {
		return nil, err
	}
	names := words[1:]
	if slices.Equal(names, []string{"*"}) {
		names = names[:0:0]
		for _, q := range infos { // also those with names that no client can send
			names = append(names, q.Name)
		}
	} else {
		for _, name := range names {
			if len(name) > job.MaxName || !isQueueName(name) {
				return nil, refuse("QUEUE: %.60q is not a valid name of a queue", name)
			}
		}
	}
	latency := map[string]float64{}
	for _, name := range names {
		switch words[0] {
		case "PAUSE", "RESUME":
			err = store.Pause(ctx, name, words[0] == "PAUSE")
		case "REMOVE":
			err = c.removeQueue(ctx, name)
		case "LATENCY":
			latency[name] = 0
			if i := slices.IndexFunc(infos, func(q job.QueueInfo) bool { return q.Name == name }); i >= 0 {
				latency[name] = infos[i].Wait.Seconds()
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if words[0] != "LATENCY" {
		return ok, nil
	}
	text, err := json.Marshal(latency)
	return bulk(text), err
}

// removeQueue deletes the jobs of a queue that are due, and ends its pause.
func (c *conn) removeQueue(ctx context.Context, name string) error {
	now := time.Now()
	err := c.eachPart(ctx, job.Filter{Queues: []string{name}, States: []job.State{job.Queued}},
		func(j *job.Job) bool { return !j.RunAt.After(now) }, job.ActionDelete)
	if err != nil {
		return err
	}
	return c.server.config.Store.Pause(ctx, name, false)
}

// eachPart applies an action to the jobs that match a filter and a function, in parts.
func (c *conn) eachPart(ctx context.Context, f job.Filter, matches func(*job.Job) bool, action job.Action) error {
	var ids []job.ID
	apply := func() error {
		_, err := job.Apply(ctx, c.server.config.Store, job.Filter{IDs: ids, States: f.States}, action)
		ids = nil
		return err
	}
	for j, err := range job.List(ctx, c.server.config.Store, f) {
		if err != nil {
			return err
		}
		if !matches(j) {
			continue
		}
		if ids = append(ids, j.ID); len(ids) == pushPart {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return apply()
}

// A mutation is the argument of MUTATE: an action on many jobs.
type mutation struct {
	Do     string `json:"cmd"`
	Target string `json:"target"`
	Filter struct {
		Kind    string   `json:"jobtype"`
		IDs     []string `json:"jids"`
		Pattern string   `json:"regexp"` // with * and ?, as globs of Redis
	} `json:"filter"`
}

// mutate changes the jobs of a set.
func (c *conn) mutate(ctx context.Context, args []byte) (reply, error) {
	var m mutation
	if err := json.Unmarshal(args, &m); err != nil {
		return nil, refuse("MUTATE: %s", explain(err))
	}
	states := map[string]job.State{"retries": job.Retrying, "scheduled": job.Scheduled, "dead": job.Discarded}
	actions := map[string]job.Action{"kill": job.ActionDiscard, "requeue": job.ActionRetry, "discard": job.ActionDelete, "clear": job.ActionDelete}
	state, known := states[m.Target]
	action, can := actions[m.Do]
	switch {
	case !can:
		return nil, refuse("MUTATE: cmd %.40q: give kill, requeue, discard or clear", m.Do)
	case !known:
		return nil, refuse("MUTATE: target %.40q: give retries, scheduled or dead", m.Target)
	case len(m.Filter.IDs) > MaxJobs:
		return nil, refuse("MUTATE: %d jids: give at most %d", len(m.Filter.IDs), MaxJobs)
	}
	store := c.server.config.Store
	filter := job.Filter{States: []job.State{state}}
	if m.Do == "clear" {
		_, err := job.Apply(ctx, store, filter, action)
		return ok, err
	}
	if m.Filter.Kind != "" {
		filter.Kinds = []string{m.Filter.Kind}
	}
	matches := func(j *job.Job) bool { return m.matches(j) }
	if len(m.Filter.IDs) == 0 && m.Filter.Pattern == "" {
		_, err := job.Apply(ctx, store, filter, action)
		return ok, err
	}
	if len(m.Filter.IDs) == 0 {
		return ok, c.eachPart(ctx, filter, matches, action)
	}
	for _, jid := range m.Filter.IDs {
		if jid == "" {
			continue
		}
		for _, one := range byJID(jid, filter) {
			if err := c.eachPart(ctx, one, matches, action); err != nil {
				return nil, err
			}
		}
	}
	return ok, nil
}

// matches reports whether the JSON of a job matches the pattern.
func (m *mutation) matches(j *job.Job) bool {
	if m.Filter.Pattern == "" {
		return true
	}
	return glob(m.Filter.Pattern, string(appendFetched(nil, j)))
}

// glob matches a text with a pattern in which * is any text and ? any byte.
func glob(pattern, text string) bool {
	star, from := -1, 0 // of the last star, and where it matches up to
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// track reads or sets the progress of a job.
func (c *conn) track(ctx context.Context, args []byte) (reply, error) {
	what, rest, _ := bytes.Cut(args, []byte(" "))
	switch string(what) {
	case "GET":
		return c.progress(ctx, strings.TrimSpace(string(rest)))
	case "SET":
		return c.setProgress(ctx, rest)
	}
	return nil, refuse("TRACK: give GET and a jid, or SET and a JSON object")
}

// A trackReply is the answer to TRACK GET.
type trackReply struct {
	ID          string    `json:"jid"`
	Percent     int64     `json:"percent"`
	Description string    `json:"desc,omitempty"`
	State       string    `json:"state"`
	Updated     time.Time `json:"updated_at"`
}

const trackMessage = "TRACK"

func (c *conn) progress(ctx context.Context, jid string) (reply, error) {
	if jid == "" {
		return nil, refuse("TRACK GET: give a jid")
	}
	t := trackReply{ID: jid, State: "unknown", Updated: time.Now().UTC()}
	for _, filter := range byJID(jid, job.Filter{Limit: 1}) {
		jobs, err := c.server.config.Store.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		if len(jobs) > 0 {
			t.read(jobs[0])
			break
		}
	}
	text, err := json.Marshal(t)
	return bulk(text), err
}

// read sets the answer from a job.
func (t *trackReply) read(j *job.Job) {
	t.Updated = j.Created
	switch j.View(time.Now()) {
	case job.Running:
		t.State, t.Updated = "working", j.Started
	case job.Completed:
		t.State, t.Updated, t.Percent = "success", j.Finished, 100
	case job.Discarded, job.Canceled:
		t.State, t.Updated = "dead", j.Finished
	case job.Retrying:
		t.State = "failed"
	default:
		t.State = "enqueued"
	}
	if p := j.Progress; p != nil && p.Total > 0 {
		t.Percent = p.Done * 100 / p.Total
		if p.Time.After(t.Updated) {
			t.Updated = p.Time
		}
	}
	for _, r := range slices.Backward(j.Records) {
		if r.Message == trackMessage {
			t.Description = r.Attrs
			break
		}
	}
	t.Updated = t.Updated.UTC()
}

// A progressReport is the argument of TRACK SET.
type progressReport struct {
	ID          string `json:"jid"`
	Percent     int64  `json:"percent"`
	Description string `json:"desc"`
}

// setProgress writes the progress of a job that the client runs. As in finish, what is known here may be an earlier attempt.
func (c *conn) setProgress(ctx context.Context, args []byte) (reply, error) {
	var p progressReport
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, refuse("TRACK SET: %s", explain(err))
	}
	if p.Percent < 0 || p.Percent > 100 {
		return nil, refuse("TRACK SET: %d percent: give from 0 to 100", p.Percent)
	}
	cs := &c.server.clients
	for r := cs.peek(c.client, p.ID); r != nil; r = cs.peek(c.client, p.ID) {
		if lost, err := c.writeProgress(ctx, r, p); err != nil || !lost {
			return ok, err
		}
		cs.removeReservation(r)
	}
	r, err := c.findReservation(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if r != nil {
		if lost, err := c.writeProgress(ctx, r, p); err != nil || !lost {
			return ok, err
		}
	}
	return nil, refuse("Job not found %s", p.ID)
}

// writeProgress writes the progress of an attempt, and reports whether the attempt is lost.
func (c *conn) writeProgress(ctx context.Context, r *reservation, p progressReport) (lost bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.job.Progress = &job.ProgressReport{Done: p.Percent, Total: 100, Time: now}
	if p.Description != "" {
		record := job.Record{Attempt: r.job.Attempt, Time: now, Level: "INFO", Message: trackMessage, Attrs: short(p.Description, mostDescription)}
		r.job.Records = append(r.job.Records, record)
		r.job.Records = r.job.Records[max(len(r.job.Records)-job.MaxRecords, 0):]
	}
	j := *r.job
	j.State = job.Running
	ids, err := c.server.config.Store.Settle(ctx, r.client.session, job.Outcome{Job: &j})
	return len(ids) > 0, err
}

// mostDescription keeps a hundred descriptions within what is kept of records.
const mostDescription = 500
