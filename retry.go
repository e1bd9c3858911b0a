package meanwhile

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A RetryPolicy says when a failed function is called again. The zero value is a policy: up to three attempts with
// growing, random waits of about 100 and 200 ms between them.
type RetryPolicy struct {
	Attempts int           // at most, the first included; default 3
	Base     time.Duration // bound of the wait before the second attempt; default 100 ms
	Max      time.Duration // bound of each wait; default 30 s
	Factor   float64       // by which the bound grows with each attempt; default 2
	// Jitter is the share of each wait that is random: 1, the default, draws it between zero and the bound ("full
	// jitter"), a half between half the bound and the bound, and less than zero stands for no randomness.
	Jitter float64
	// MaxAfter is the bound of a wait that an error asks for ([RetryAfter]); default Max. A server that asks for more is called
	// again after the bound.
	MaxAfter time.Duration
	// Timeout of each attempt; default none. The option Timeout bounds all attempts and waits together.
	Timeout time.Duration
	// If reports whether a failure is worth another attempt; default every failure that is not marked [Permanent].
	If func(error) bool
}

type retryOption struct{ p *RetryPolicy }

func (retryOption) taskOption()   {}
func (retryOption) streamOption() {}

// Retry calls the function again when it fails, as p says. Each attempt is a scope, named "attempt 1" and so on in paths:
// the tasks it started have ended before the next one begins, and a panic is a failure like others. Under [Supervise] the
// tasks of an attempt fail alone; those failures that nobody waited for fail the attempt.
//
// The waits grow exponentially and are random, so that callers that failed together do not return together (M. Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). An error that carries a delay ([RetryAfter])
// sets the wait instead, up to MaxAfter. There is no further attempt after an error marked [Permanent], after the ctx is canceled,
// and when the next wait would end after its deadline: then the last failure is returned at once. After
// more than one attempt its text begins with how many they were; errors.Is and errors.As find the failure itself.
func Retry(p RetryPolicy) Option {
	if p.Attempts < 0 || p.Base < 0 || p.Max < 0 || p.MaxAfter < 0 || p.Timeout < 0 || p.Factor != 0 && p.Factor < 1 || p.Jitter > 1 {
		panic("meanwhile: Retry with a negative number, a factor below 1 or a jitter above 1: leave a field zero for its default")
	}
	p.Attempts = cmp.Or(p.Attempts, 3)
	p.Base = cmp.Or(p.Base, 100*time.Millisecond)
	p.Max = cmp.Or(p.Max, 30*time.Second)
	p.MaxAfter = cmp.Or(p.MaxAfter, p.Max)
	p.Factor = cmp.Or(p.Factor, 2)
	p.Jitter = cmp.Or(p.Jitter, 1)
	return retryOption{&p}
}

// run calls fn until it succeeds or the policy gives up.
func (p *RetryPolicy) run(n *scope.Node, fn func(context.Context) error) error {
	return p.runPaced(n, nil, fn)
}

// runPaced is run where each further attempt takes a turn at the pacer, if there is one.
func (p *RetryPolicy) runPaced(n *scope.Node, pacer *Pacer, fn func(context.Context) error) error {
	bound := min(float64(p.Base), float64(p.Max))
	for attempt := 1; ; attempt++ {
		err := p.attempt(n, attempt, fn)
		if err == nil {
			return nil
		}
		if attempt == p.Attempts || n.Err() != nil || !p.worthwhile(err) {
			return afterAttempts(attempt, err)
		}
		delay := p.wait(bound, err)
		if deadline, ok := n.Deadline(); ok && time.Until(deadline) <= delay {
			return afterAttempts(attempt, err)
		}
		bound = min(bound*p.Factor, float64(p.Max))
		if f, ok := n.Observer().(observerFunc); ok {
			f(Event{Kind: TaskRetrying, Path: n.Path(), Err: err, Attempt: attempt + 1, Delay: delay})
		}
		if n.Sleep(n, delay) != nil || pacer != nil && pacer.Wait(n) != nil {
			return afterAttempts(attempt, err)
		}
	}
}

// An attemptsError is the failure of the last of several attempts.
type attemptsError struct {
	attempts int
	err      error
}

func afterAttempts(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return &attemptsError{attempts, err}
}

func (e *attemptsError) Error() string { return e.TextBelow("") }

func (e *attemptsError) TextBelow(path string) string {
	return "after " + strconv.Itoa(e.attempts) + " attempts: " + scope.TextBelow(e.err, path)
}

func (e *attemptsError) Unwrap() error { return e.err }

func (p *RetryPolicy) attempt(n *scope.Node, number int, fn func(context.Context) error) error {
	o := taskOptions{Settings: scope.Settings{Name: "attempt", ID: strconv.Itoa(number), Timeout: p.Timeout}, maxTasks: maxTasksOf(n)}
	kind := scope.KindRun
	if n.Kind() == scope.KindSupervise {
		kind = scope.KindSupervise // its tasks fail alone
	}
	return runWith(n, scope.NewScope(), kind, fn, &o)
}

func (p *RetryPolicy) worthwhile(err error) bool {
	var permanent *permanentError
	if errors.As(err, &permanent) {
		return false
	}
	return p.If == nil || p.If(err)
}

// wait is how long to wait after err when the bound has grown to the given one.
func (p *RetryPolicy) wait(bound float64, err error) time.Duration {
	var delayed interface{ RetryAfter() time.Duration }
	if errors.As(err, &delayed) {
		return min(max(0, delayed.RetryAfter()), p.MaxAfter)
	}
	if p.Jitter > 0 {
		bound -= bound * p.Jitter * rand.Float64()
	}
	if bound >= float64(p.Max) {
		return p.Max
	}
	return time.Duration(bound)
}

// Permanent marks an error as one that another attempt will not change; [Retry] returns it at once. It returns nil for
// nil. The mark holds through wrapping.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }

// Permanent tells other packages of this module of the mark.
func (e *permanentError) Permanent() bool { return true }

// RetryAfter gives an error the delay after which another attempt makes sense, such as that of an HTTP Retry-After
// header; [Retry] then waits for so long, up to MaxAfter, instead of what its policy says. An error of another package has the same effect
// when it has a method RetryAfter() time.Duration. It returns nil for nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &delayedError{err, d}
}

type delayedError struct {
	err   error
	delay time.Duration
}

func (e *delayedError) Error() string { return e.err.Error() }

func (e *delayedError) Unwrap() error { return e.err }

func (e *delayedError) RetryAfter() time.Duration { return e.delay }
