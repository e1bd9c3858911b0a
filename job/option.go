package job

import (
	"fmt"
	"time"
)

// A DefineOption applies to all jobs of a kind: [Define] and [HandleRaw] accept them.
type DefineOption interface{ define(*definition) }

// An EnqueueOption changes one job: [New], [Kind.New], [Kind.Enqueue] and [Kind.EnqueueAll] accept them.
type EnqueueOption interface{ enqueue(*insertion) }

// An Option may be given to a kind, as the default of its jobs, and to a single job.
type Option interface {
	DefineOption
	EnqueueOption
}

// A definition is the options of a kind.
type definition struct {
	defaults []EnqueueOption
	timeout  time.Duration
	backoff  func(attempt int, err error) time.Duration
	once     bool // AtMostOnce
}

// An insertion is a job while options are applied to it.
type insertion struct {
	*Job
	unique    func(*Job) (string, error) // returns the key, without the kind; nil for none
	while     bool                       // UniqueWhile was given
	notUnique bool
	debounced time.Duration // Debounce was given
	attempts  bool          // MaxAttempts was given
	once      bool          // AtMostOnce was given
	err       error         // of an option
}

type both func(*insertion)

func (f both) enqueue(in *insertion) { f(in) }
func (f both) define(d *definition)  { d.defaults = append(d.defaults, f) }

type enqueueOnly func(*insertion)

func (f enqueueOnly) enqueue(in *insertion) { f(in) }

type defineOnly func(*definition)

func (f defineOnly) define(d *definition) { f(d) }

// Queue sets the queue. The default is [DefaultQueue].
func Queue(name string) Option {
	return both(func(in *insertion) { in.Queue = name })
}

// Priority sets how urgent a job is in its queue, from 1 to 9; 9 is claimed first. The default is 5.
func Priority(p int) Option {
	return both(func(in *insertion) { in.Job.Priority = p })
}

// MaxAttempts bounds how often a job is run until it succeeds. The default is 20, which takes about a day with the default backoff. An attempt is
// counted when a worker claims the job, so that a job which kills its process is bounded as well. Snoozes do not count, nor do the first 20 times
// that its worker stops before the job has ended: even with MaxAttempts(1) a job may be started more than once, see [AtMostOnce].
func MaxAttempts(n int) Option {
	return both(func(in *insertion) { in.Job.MaxAttempts, in.attempts = n, true })
}

// AtMostOnce is for a kind whose handler must never start twice for one job: a job that was started and has not completed is discarded, whether its
// handler failed, its worker stopped, or its process died. The worker's handler of the kind decides this, also for jobs that were enqueued without
// the option. [Snooze] and [Throttled] fail such a job. It starts again only if somebody retries it by hand, see [ActionRetry], or if the database
// loses what it has acknowledged, such as one that is restored from a backup. A job may also be discarded without having been started, if its
// process dies before that, or its claim is answered too late.
func AtMostOnce() DefineOption {
	return defineOnly(func(def *definition) {
		def.once = true
		def.defaults = append(def.defaults, enqueueOnly(func(in *insertion) { in.once = true }))
	})
}

// Unique makes a job the only one of its kind with the key: while an unfinished job holds it, Enqueue enqueues nothing and
// returns the ID of that job.
func Unique(key string) EnqueueOption {
	return enqueueOnly(func(in *insertion) {
		in.unique = func(*Job) (string, error) { return key, nil }
		if key == "" {
			in.err = fmt.Errorf("the unique key is empty: leave the option out for a job that need not be unique")
		}
	})
}

// UniqueArgs makes a job the only one of its kind with the same args, or, if fields are named, with the same values of these
// fields of its args.
func UniqueArgs(fields ...string) Option {
	return both(func(in *insertion) {
		in.unique = func(j *Job) (string, error) { return argsKey(j.Args, fields) }
	})
}

// UniqueFor holds the unique key for d after the job is enqueued, even if the job finishes earlier.
func UniqueFor(d time.Duration) Option {
	return both(func(in *insertion) { in.Job.UniqueFor = d })
}

// UniqueWhile sets the states in which another job with the key keeps this one out. The default is queued and running, and what UniqueFor adds.
// With UniqueWhile(Queued) a running job keeps none out, so that one more job, and only one, handles what has changed since the running one
// started. Finished states count as long as UniqueFor holds the key. The states are checked when the job is enqueued: the other job continues
// without its key, and may be queued again beside this one, if it fails.
func UniqueWhile(states ...State) Option {
	return both(func(in *insertion) { in.Job.UniqueWhile, in.while = states, true })
}

// Replace makes a job whose unique key is held by a queued job replace the args of that job and the time at which it is due. The queued job keeps
// its ID, its attempts and everything else; the result reports a duplicate. A job that is running, or has finished, is left alone.
func Replace() Option {
	return both(func(in *insertion) { in.Job.Replace = true })
}

// Debounce merges many jobs that come soon after each other into one, which runs when no other has come for d: a queued job of its kind with the
// key gets the args of this one, and is due d from now, but no later than within after its own creation; the result reports a duplicate. A job that
// waits for its next attempt is due no earlier than that. A running job is left alone, and one more is enqueued, so that the last args are never
// lost. Debounce combines Unique, [UniqueWhile] with Queued, [Replace] and [In]; none of these may be given beside it, nor At. within must be at
// least d.
func Debounce(key string, d, within time.Duration) EnqueueOption {
	return enqueueOnly(func(in *insertion) {
		Unique(key).enqueue(in)
		UniqueWhile(Queued).enqueue(in)
		Replace().enqueue(in)
		In(d).enqueue(in)
		in.ReplaceWithin, in.debounced = within, d
		if d <= 0 || within < d || within > maxDelay {
			in.err = fmt.Errorf("debounced for %v, and at most %v: give a positive duration, and one that is no shorter, up to a hundred years", d, within)
		}
	})
}

// NotUnique is for one job of a kind that is unique: it is enqueued whatever other jobs there are, and keeps no other job out.
func NotUnique() EnqueueOption {
	return enqueueOnly(func(in *insertion) { in.notUnique = true })
}

// In makes a job due after d, by the clock of the store. By default, a job is due immediately.
func In(d time.Duration) EnqueueOption {
	return enqueueOnly(func(in *insertion) { in.RunAt, in.Delay = time.Time{}, max(d, 0) })
}

// At makes a job due at t. With a time in the past it is due immediately, ahead of jobs that became due later.
func At(t time.Time) EnqueueOption {
	return enqueueOnly(func(in *insertion) { in.RunAt, in.Delay = t, 0 })
}

// Timeout bounds each attempt: after d its context is canceled with [ErrTimeout] as the cause, and the attempt fails if it
// then returns an error. The default is no timeout; the timeout of a job replaces that of its kind.
func Timeout(d time.Duration) Option { return timeout(d) }

type timeout time.Duration

func (d timeout) define(def *definition) {
	if d <= 0 {
		panic("job: Timeout(" + time.Duration(d).String() + "): give a positive duration, or leave the option out for no timeout")
	}
	def.timeout = time.Duration(d)
}

func (d timeout) enqueue(in *insertion) {
	if in.Timeout = time.Duration(d); d <= 0 {
		in.err = fmt.Errorf("a timeout of %v: give a positive duration, or leave the option out for that of the kind", in.Timeout)
	}
}

// Backoff sets how long to wait after a failed attempt, counted from 1, before the next. The default is [DefaultBackoff]. If the error has its own
// delay, see [retry.After], that is used instead.
func Backoff(f func(attempt int, err error) time.Duration) DefineOption {
	return defineOnly(func(def *definition) { def.backoff = f })
}
