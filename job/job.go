package job

import (
	"encoding/json"
	"time"
)

// A State is where a job is in its lifecycle.
type State string

const (
	Queued    State = "queued"    // waits for its time and a worker
	Running   State = "running"   // a worker holds it under a lease
	Completed State = "completed" // its handler succeeded
	Canceled  State = "canceled"  // stopped on purpose: by its handler, or from outside
	Discarded State = "discarded" // out of attempts, or failed permanently
)

// Views of [Queued], for a [Filter] and to show: no job is stored in them.
const (
	Scheduled State = "scheduled" // queued, no attempt failed, and not due yet
	Retrying  State = "retrying"  // queued, and an attempt failed
)

// States returns all states and views, in the order of a job's life.
func States() []State {
	return []State{Queued, Scheduled, Retrying, Running, Completed, Canceled, Discarded}
}

// stored returns the state that jobs of a view are stored in.
func (s State) stored() State {
	if s == Scheduled || s == Retrying {
		return Queued
	}
	return s
}

// Finished reports whether a job in this state has finished.
func (s State) Finished() bool { return s == Completed || s == Canceled || s == Discarded }

// Bounds of what a job carries.
const (
	MaxArgs     = 1 << 20 // bytes of Args
	MaxResult   = 64 << 10
	MaxName     = 128 // bytes of a kind, a queue and the name of a cron
	MaxKey      = 255 // bytes of a unique key
	MaxFailures = 20  // kept of a job: the first, and the newest
	MaxRecords  = 100 // kept of a job: the newest, at most 64 KiB of them
)

// The priorities: within a queue, jobs of a higher priority are claimed first.
const (
	LowestPriority  = 1
	DefaultPriority = 5
	HighestPriority = 9
)

// DefaultQueue is the queue of a job that names none.
const DefaultQueue = "default"

// A Job is a unit of durable work: its kind, its args, and its state so far.
type Job struct {
	ID          ID              `json:"id"`
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	Args        json.RawMessage `json:"args"`
	State       State           `json:"state"`
	Priority    int             `json:"priority"`
	Attempt     int             `json:"attempt"`   // how often it was claimed; it only grows, so that it distinguishes two holders
	Uncounted   int             `json:"uncounted"` // claims that count as no attempt: snoozed, released, before a retry by hand
	Crashed     int             `json:"crashed"`   // claims whose lease ran out: the process died, or hung
	MaxAttempts int             `json:"max_attempts"`

	// UniqueKey is held from the insertion until the job has finished and the time UniqueFor has passed since the insertion. No two jobs hold the same
	// key. Empty means none. It is the kind, a space, and the key that Unique or UniqueArgs gave it.
	UniqueKey string        `json:"unique_key,omitempty"`
	UniqueFor time.Duration `json:"unique_for,omitempty"`
	// UniqueWhile and Replace decide what happens to a new job whose UniqueKey is held, see [UniqueWhile] and [Replace]. Stores
	// read them from the jobs that they insert and never set them.
	UniqueWhile []State `json:"-"`
	Replace     bool    `json:"-"`
	// ReplaceWithin, if it is more than zero, bounds the time that Replace sets: the holder is due at most that long after its creation, or now if
	// that is over, but no earlier than its next attempt, if it has had one, see [Debounce]. Stores read it like the two fields above.
	ReplaceWithin time.Duration `json:"-"`

	// These times are by the store's clock. RunAt is when the job became or becomes due.
	Created  time.Time `json:"created"`
	RunAt    time.Time `json:"run_at"`
	Started  time.Time `json:"started,omitzero"` // when it was last claimed
	Finished time.Time `json:"finished,omitzero"`
	// Delay, if RunAt is zero, is how long after a queued job is written it becomes due. Stores read it from the jobs
	// they are given and never set it.
	Delay time.Duration `json:"-"`

	Worker          string `json:"worker,omitempty"`           // that claimed it last
	CancelRequested bool   `json:"cancel_requested,omitempty"` // while it runs

	Options
	Detail
}

// Detail is what a job accumulates while it is run. Stores keep it as one value, see [Job.EncodeDetail].
type Detail struct {
	Failures []Failure       `json:"failures,omitempty"` // in the order of the attempts
	Records  []Record        `json:"records,omitempty"`  // logged by its handler, in the order of time
	Progress *ProgressReport `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"` // what the handler returned
	// Released is how often the job was started and released, uncounted, because its worker stopped before the job had ended: at most 20 times.
	Released int `json:"released,omitempty"`
}

// A Failure is an attempt that did not succeed.
type Failure struct {
	Attempt int       `json:"attempt"`
	Started time.Time `json:"started"`
	Time    time.Time `json:"time"`
	Worker  string    `json:"worker"`
	Error   string    `json:"error"`
	Stack   string    `json:"stack,omitempty"` // of a panic
}

// A ProgressReport is the progress that a handler has reported.
type ProgressReport struct {
	Done  int64     `json:"done"`
	Total int64     `json:"total"`
	Time  time.Time `json:"time"`
}

// A Record is a log record that a handler wrote with the ctx of its job.
type Record struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
	Attrs   string    `json:"attrs,omitempty"` // as slog's text handler writes them
}

// Used returns how many attempts count against MaxAttempts: Attempt minus Uncounted.
func (j *Job) Used() int { return j.Attempt - j.Uncounted }

// View returns the state to show: that of the job, or, for a queued job, Scheduled or Retrying if one of these applies.
func (j *Job) View(now time.Time) State {
	switch {
	case j.State != Queued:
		return j.State
	case j.Used() > 0:
		return Retrying
	case j.RunAt.After(now):
		return Scheduled
	}
	return Queued
}

// LastError returns the error of the newest failure, or "".
func (j *Job) LastError() string {
	if len(j.Failures) == 0 {
		return ""
	}
	return j.Failures[len(j.Failures)-1].Error
}

// EncodeDetail returns the detail as a store keeps it: JSON, or nil for an empty one.
func (j *Job) EncodeDetail() []byte {
	d := &j.Detail
	if len(d.Failures) == 0 && len(d.Records) == 0 && d.Progress == nil && d.Result == nil && d.Released == 0 {
		return nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("job: detail of " + j.ID.String() + ": " + err.Error()) // Result is checked where it is set
	}
	return text
}

// DecodeDetail sets the detail from what EncodeDetail returned.
func (j *Job) DecodeDetail(text []byte) error {
	j.Detail = Detail{}
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, &j.Detail)
}
