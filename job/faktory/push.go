package faktory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// The keys of Meta under which fields of a client's job are kept.
const (
	metaCustom    = "custom"    // the object custom, as JSON
	metaRetry     = "retry"     // 0 or -1
	metaBacktrace = "backtrace" // how many lines of a backtrace are wanted
)

const (
	leastID        = 8
	mostID         = 200
	defaultRetry   = 25
	mostRetry      = 1000
	defaultReserve = 30 * time.Minute
	leastReserve   = time.Minute
	mostReserve    = 24 * time.Hour
)

// A pushed is a job as clients send it. It may refer to parts of the command that was received.
type pushed struct {
	ID        string          `json:"jid"`
	Queue     string          `json:"queue"`
	Kind      string          `json:"jobtype"`
	Args      json.RawMessage `json:"args"`
	At        string          `json:"at"`
	Retry     *int            `json:"retry"`
	Reserve   float64         `json:"reserve_for"` // seconds
	Backtrace int             `json:"backtrace"`
	Priority  json.RawMessage `json:"priority"`
	Custom    json.RawMessage `json:"custom"`
}

// A custom has the fields of the object custom that this server reads.
type custom struct {
	UniqueFor   json.RawMessage `json:"unique_for"` // a number, or a string of one
	UniqueUntil string          `json:"unique_until"`
	Expires     string          `json:"expires_at"`
	Batch       string          `json:"bid"`
}

// isQueueName reports whether clients may use this name of a queue.
func isQueueName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '.' && c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// job returns the job to enqueue.
func (p *pushed) job() (*job.Job, error) {
	switch {
	case len(p.ID) < leastID || len(p.ID) > mostID:
		return nil, refuse("a job has to have a jid of %d to %d bytes", leastID, mostID)
	case !plain(p.ID):
		return nil, refuse("the jid %.60q has other characters than letters, digits and simple punctuation", p.ID)
	case p.Kind == "":
		return nil, refuse("job %s has no jobtype", p.ID)
	}
	args := bytes.TrimSpace(p.Args)
	if len(args) == 0 || args[0] != '[' {
		return nil, refuse("job %s: the args have to be a JSON array", p.ID)
	}
	opts, err := p.options()
	if err != nil {
		return nil, refuse("job %s: %v", p.ID, err)
	}
	j, err := job.New(p.Kind, args, opts...)
	if err != nil {
		return nil, refuse("job %s: %s", p.ID, strings.TrimPrefix(err.Error(), fmt.Sprintf("job kind %q: ", p.Kind)))
	}
	return j, nil
}

// plain reports whether a text is written in JSON as it is. A plain jid is in the indexes of stores.
func plain(id string) bool {
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

func (p *pushed) options() ([]job.EnqueueOption, error) {
	opts := []job.EnqueueOption{job.Meta(job.MetaID, p.ID)}
	if p.Queue != "" {
		if !isQueueName(p.Queue) {
			return nil, fmt.Errorf("the queue %.60q: names are of letters, digits, '.', '_' and '-'", p.Queue)
		}
		opts = append(opts, job.Queue(p.Queue))
	}
	if p.At != "" {
		at, err := time.Parse(time.RFC3339Nano, p.At)
		if err != nil {
			return nil, fmt.Errorf("at %.60q is not a time such as 2030-01-31T15:04:05.5Z", p.At)
		}
		opts = append(opts, job.At(at))
	}
	retry := defaultRetry
	if p.Retry != nil {
		retry = *p.Retry
	}
	if retry > mostRetry {
		return nil, fmt.Errorf("retry %d: give at most %d", retry, mostRetry)
	}
	if retry <= 0 {
		retry = max(retry, -1)
		opts = append(opts, job.Meta(metaRetry, strconv.Itoa(retry)))
	}
	opts = append(opts, job.MaxAttempts(1+max(retry, 0)))
	switch reserve := time.Duration(p.Reserve * float64(time.Second)); {
	case p.Reserve < 0 || p.Reserve > mostReserve.Seconds():
		return nil, fmt.Errorf("reserve_for %v: give seconds, up to a day", p.Reserve)
	case reserve > 0 && reserve != defaultReserve:
		opts = append(opts, job.Timeout(max(reserve, leastReserve)))
	}
	if p.Backtrace > 0 {
		opts = append(opts, job.Meta(metaBacktrace, strconv.Itoa(p.Backtrace)))
	}
	var priority int
	if len(p.Priority) > 0 && json.Unmarshal(p.Priority, &priority) == nil && priority >= job.LowestPriority && priority <= job.HighestPriority {
		opts = append(opts, job.Priority(priority))
	}
	more, err := p.customOptions()
	return append(opts, more...), err
}

// customOptions returns the options for what the server reads in the object custom, and one that keeps all of it.
func (p *pushed) customOptions() (opts []job.EnqueueOption, err error) {
	text := bytes.TrimSpace(p.Custom)
	if len(text) == 0 || string(text) == "null" || string(text) == "{}" {
		return nil, nil
	}
	var compact bytes.Buffer
	if text[0] != '{' || json.Compact(&compact, text) != nil {
		return nil, errors.New("custom has to be a JSON object")
	}
	if n := compact.Len(); n > job.MaxMetaBytes-mostID-100 {
		return nil, fmt.Errorf("custom has %d bytes, at most %d are kept: put large data in the args", n, job.MaxMetaBytes-mostID-100)
	}
	opts = append(opts, job.Meta(metaCustom, compact.String()))
	var c custom
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("custom: %s", explain(err))
	}
	if c.Expires != "" {
		if _, err := time.Parse(time.RFC3339Nano, c.Expires); err != nil {
			return nil, fmt.Errorf("expires_at %.60q is not a time such as 2030-01-31T15:04:05Z", c.Expires)
		}
	}
	if c.Batch != "" {
		return nil, errors.New("it has a bid, and this server has no batches")
	}
	switch string(c.UniqueFor) {
	case "", `""`, "null":
		return opts, nil
	}
	if seconds, err := strconv.ParseFloat(string(bytes.Trim(c.UniqueFor, `"`)), 64); err != nil || !(seconds >= 1) { // as NaN is not
		return nil, fmt.Errorf("unique_for %.20s: give seconds, at least 1", c.UniqueFor)
	}
	opts = append(opts, job.UniqueArgs())
	switch c.UniqueUntil {
	case "", "success":
		return opts, nil
	case "start":
		return append(opts, job.UniqueWhile(job.Queued)), nil
	}
	return nil, fmt.Errorf("unique_until %.20q: give success or start", c.UniqueUntil)
}

// push enqueues a job.
func (c *conn) push(ctx context.Context, args []byte) (reply, error) {
	var p pushed
	if err := unmarshal(args, &p, scanPushed); err != nil {
		return nil, refuse("PUSH: it is not a job in JSON: %s", explain(err))
	}
	j, err := p.job()
	if err != nil {
		return nil, err
	}
	done, err := c.server.pushes.Do(ctx, j)
	switch {
	case err != nil:
		return nil, err
	case done.err != nil:
		return nil, done.err
	case done.enqueued.Duplicate:
		return nil, &refusal{"NOTUNIQUE", "Job not unique"}
	}
	return ok, nil
}

// An inserted is the result for a job that was pushed.
type inserted struct {
	enqueued job.Enqueued
	err      error
}

// insertAll enqueues jobs that were pushed at the same time, in one call of the store. If that fails, each is tried alone, since one of them may be
// the reason.
func (s *Server) insertAll(ctx context.Context, jobs []*job.Job) ([]inserted, error) {
	ctx, cancel := s.withinCall(ctx)
	defer cancel()
	all := make([]inserted, len(jobs))
	done, err := s.dispatcher.insert(ctx, jobs)
	if err == nil {
		for i := range jobs {
			all[i].enqueued = done[i]
		}
		return all, nil
	}
	if len(jobs) == 1 || ctx.Err() != nil {
		return nil, err
	}
	for i, j := range jobs {
		if done, err := s.dispatcher.insert(ctx, []*job.Job{j}); err != nil {
			all[i].err = err
		} else {
			all[i].enqueued = done[0]
		}
	}
	return all, nil
}

// pushPart is how many jobs are enqueued in one transaction.
const pushPart = 1000

// pushAll enqueues the valid ones of many jobs, and answers with the errors of the others.
func (c *conn) pushAll(ctx context.Context, args []byte) (reply, error) {
	var all []pushed
	if err := unmarshal(args, &all, scanAllPushed); err != nil {
		return nil, refuse("PUSHB: it is not an array of jobs in JSON: %s", explain(err))
	}
	if len(all) > MaxJobs {
		return nil, refuse("PUSHB: %d jobs: give at most %d", len(all), MaxJobs)
	}
	wrong := map[string]string{}
	jobs, ids := make([]*job.Job, 0, len(all)), make([]string, 0, len(all))
	for i := range all {
		j, err := all[i].job()
		if err != nil {
			wrong[all[i].ID] = err.Error()
			continue
		}
		jobs, ids = append(jobs, j), append(ids, all[i].ID)
	}
	for from := 0; from < len(jobs); from += pushPart {
		part := jobs[from:min(from+pushPart, len(jobs))]
		done, err := c.server.dispatcher.insert(ctx, part)
		if err != nil {
			c.server.config.Logger.Warn("faktory: a command failed", "command", "PUSHB", "error", err)
		}
		for i := range part {
			switch {
			case err != nil:
				wrong[ids[from+i]] = "the store failed; the log of the server says why. Try again"
			case done[i].Duplicate:
				wrong[ids[from+i]] = "Job not unique"
			}
		}
	}
	text, err := json.Marshal(wrong)
	return bulk(text), err
}
