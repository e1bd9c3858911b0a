package job

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// The most bytes that are kept of one failure.
const (
	maxErrorText = 8 << 10
	maxStack     = 16 << 10
)

var errNotCommitted = errors.New("the handler called job.Complete and returned nil, but the transaction was not committed")

// errDecideGoexit is the failure of an attempt whose outcome could not be decided.
var errDecideGoexit = fmt.Errorf("the backoff of the kind, or a method of the handler's error: %w", meanwhile.ErrGoexit)

// maxReleases bounds how often a started job is released without using an attempt: a job that takes longer than its workers live would otherwise be
// started again forever.
const maxReleases = 20

// decide sets the outcome of the job after an attempt that took elapsed and returned err, in a context canceled for cause (nil if it was not), and
// returns its event. d is the definition of its kind.
//
//	err nil                          Completed
//	cause ErrStopping                Queued, immediately, the attempt uncounted, at most 20 times
//	cause ErrCanceled, or Cancel     Canceled
//	Snooze, Throttled                Queued, after its delay, the attempt uncounted
//	Permanent, or the last attempt   Discarded
//	any other                        Queued, after the backoff
//
// A Cancel or Permanent that wraps a Snooze or Throttled takes precedence over it. A panic with Snooze, Throttled or Cancel is any other error.
//
// A job whose kind runs at most once is never queued again: this attempt is the last, and it counts.
//
// Throttled holds back other jobs whatever the outcome of the job is.
func (j *Job) decide(err, cause error, elapsed time.Duration, d definition) Event {
	if err == nil {
		j.State = Completed
		return Event{Kind: JobCompleted}
	}
	snooze, _ := returned[*snoozeError](err)
	event := j.decideFailed(err, cause, snooze, elapsed, d)
	if snooze != nil && snooze.throttled != nil {
		event.Throttle = min(snooze.delay, maxDelay)
	}
	return event
}

// decideFailed is decide for an attempt that did not complete. snooze is the error of Snooze or Throttled in err, or nil.
func (j *Job) decideFailed(err, cause error, snooze *snoozeError, elapsed time.Duration, d definition) Event {
	j.Result = nil
	if snooze != nil && endsAround(err, snooze) {
		snooze = nil
	}
	stopping := errors.Is(cause, ErrStopping)
	if stopping && !d.once && j.Released < maxReleases {
		j.Released++
		j.queueAgain(0, true)
		return Event{Kind: JobReleased, Err: err}
	}
	if snooze != nil && !d.once && !errors.Is(cause, ErrCanceled) {
		delay := min(snooze.delay, maxDelay)
		j.queueAgain(delay, true)
		return Event{Kind: JobSnoozed, Delay: delay, Err: snooze.throttled}
	}
	switch {
	case stopping && d.once:
		err = fmt.Errorf("its worker stopped, and a job of its kind is run at most once: %w", err)
	case stopping:
		err = fmt.Errorf("its worker stopped, as before: after %d times each counts as an attempt: %w", maxReleases, err)
	case snooze != nil && d.once:
		err = fmt.Errorf("the handler returned %s(%v), which is not for a kind that is run at most once", snooze.name(), snooze.delay)
	}
	_, canceled := returned[*cancelError](err)
	if errors.Is(cause, ErrTimeout) && !scope.Claims(err, ErrTimeout) {
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	j.addFailure(Failure{Attempt: j.Attempt, Started: j.Started, Time: j.Started.Add(elapsed), Worker: j.Worker}.of(err))
	switch {
	case canceled || errors.Is(cause, ErrCanceled):
		j.State = Canceled
		return Event{Kind: JobCanceled, Err: err}
	case isPermanent(err) || j.Used() >= j.MaxAttempts:
		j.State = Discarded
		return Event{Kind: JobDiscarded, Err: err}
	}
	delay := retryDelay(err, j.Used(), d.backoff)
	j.queueAgain(delay, false)
	return Event{Kind: JobRetried, Err: err, Delay: delay}
}

// returned finds the error of Cancel, Snooze or Throttled in what a handler has returned. If the handler panicked with it, it does not count: the
// attempt has failed.
func returned[T error](err error) (mark T, ok bool) {
	mark, ok = scope.As[T](err)
	if p, panicked := scope.As[*meanwhile.PanicError](err); ok && panicked && scope.Claims(p, mark) {
		return *new(T), false
	}
	return mark, ok
}

// endsAround reports whether Cancel or retry.Permanent wraps the error of Snooze or Throttled: the outermost mark counts.
func endsAround(err error, snooze *snoozeError) bool {
	if mark, ok := scope.As[*cancelError](err); ok && scope.Claims(mark, snooze) {
		return true
	}
	mark, ok := scope.As[permanentMark](err)
	return ok && mark.Permanent() && scope.Claims(mark, snooze)
}

// decideSafely is decide, protected from code of the program: its backoff and the methods of its errors. If they panic or call runtime.Goexit, the
// attempt has failed with that. It calls then with the event, even while its goroutine ends.
func (j *Job) decideSafely(err, cause error, elapsed time.Duration, d definition, then func(Event)) {
	if err == nil { // this calls no code of the program
		then(j.decide(nil, cause, elapsed, d))
		return
	}
	before := *j
	var event Event
	decided := false
	defer func() {
		if !decided {
			*j = before
			failure := errDecideGoexit
			if v := recover(); v != nil {
				// fmt formats err, and survives a panic in its methods.
				failure = fmt.Errorf("%v; what decides what becomes of the job: %w", err, &meanwhile.PanicError{Value: fmt.Sprint(v), Stack: debug.Stack()})
			}
			d.backoff = nil
			event = j.decide(failure, cause, elapsed, d)
		}
		then(event)
	}()
	event = j.decide(err, cause, elapsed, d)
	decided = true
}

// queueAgain makes the job wait for another claim.
func (j *Job) queueAgain(delay time.Duration, uncounted bool) {
	j.State, j.RunAt, j.Delay = Queued, time.Time{}, delay
	if uncounted {
		j.Uncounted++
	}
}

// addFailure adds a failure. If there are too many, it keeps the first and the newest.
func (j *Job) addFailure(f Failure) {
	if len(j.Failures) >= MaxFailures {
		kept := append(j.Failures[:1:1], j.Failures[len(j.Failures)-MaxFailures+2:]...)
		j.Failures = kept
	}
	j.Failures = append(j.Failures, f)
}

// of returns f with the text of an error, and with the stack of a panic apart from its message.
func (f Failure) of(err error) Failure {
	text := err.Error()
	if p, ok := scope.As[*meanwhile.PanicError](err); ok {
		f.Stack = cut(string(p.Stack), maxStack)
		before, _, _ := strings.Cut(text, string(p.Stack))
		text = strings.TrimSpace(before)
	}
	f.Error = cut(text, maxErrorText)
	return f
}

// cut shortens a text to at most n bytes, between two characters.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}

// A permanentMark is an error such as [retry.Permanent] returns.
type permanentMark interface {
	error
	Permanent() bool
}

func isPermanent(err error) bool {
	mark, ok := scope.As[permanentMark](err)
	return ok && mark.Permanent()
}

func retryDelay(err error, attempt int, backoff func(int, error) time.Duration) time.Duration {
	if wish, ok := scope.As[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return min(max(wish.RetryAfter(), 0), maxDelay)
	}
	if backoff == nil {
		backoff = DefaultBackoff
	}
	return min(max(backoff(attempt, err), 0), maxDelay)
}
