package meanwhile

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A retryPolicy is a policy with its defaults filled in.
type retryPolicy retry.Policy

type retryOption struct{ p *retryPolicy }

func (retryOption) taskOption()   {}
func (retryOption) streamOption() {}

// Retry calls the function again when it fails, as p says. Each attempt is a scope, named "attempt 1" and so on in paths:
// the tasks it started have ended before the next one starts, and a panic is a failure like any other. Under [Supervise] the
// tasks of an attempt fail alone; failures of tasks that were not waited for fail the attempt.
//
// The waits grow exponentially and are random, so that callers that failed together do not retry together (M. Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). An error that carries a delay ([retry.After]) sets the
// wait instead, up to MaxAfter. There is no further attempt after an error marked [retry.Permanent], after ctx is canceled,
// or when the next wait would end after its deadline: the last failure is then returned immediately. After more than one
// attempt, its text begins with the number of attempts; errors.Is and errors.As find the failure itself.
func Retry(p retry.Policy) Option {
	if p.Attempts < 0 || p.Base < 0 || p.Max < 0 || p.MaxAfter < 0 || p.Timeout < 0 || p.Factor != 0 && !(p.Factor >= 1) || !(p.Jitter <= 1) { // false for NaN
		panic("meanwhile: Retry with a negative number, a factor below 1 or a jitter above 1: leave a field zero for its default")
	}
	p.Attempts = cmp.Or(p.Attempts, 3)
	p.Base = cmp.Or(p.Base, 100*time.Millisecond)
	p.Max = cmp.Or(p.Max, 30*time.Second)
	p.MaxAfter = cmp.Or(p.MaxAfter, p.Max)
	p.Factor = cmp.Or(p.Factor, 2)
	p.Jitter = cmp.Or(p.Jitter, 1)
	return retryOption{(*retryPolicy)(&p)}
}

// run calls fn until it succeeds or the policy gives up.
func (p *retryPolicy) run(n *scope.Node, fn func(context.Context) error) error {
	return p.runPaced(n, nil, fn)
}

// runPaced is run with a pacer: each further attempt waits for its turn. pacer may be nil.
func (p *retryPolicy) runPaced(n *scope.Node, pacer *Pacer, fn func(context.Context) error) error {
	bound := min(float64(p.Base), float64(p.Max))
	for attempt := 1; ; attempt++ {
		err := p.attempt(n, attempt, fn)
		if err == nil {
			return nil
		}
		if attempt == p.Attempts || n.CatchUp() != nil || !p.worthwhile(err) {
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
		if Sleep(n, delay) != nil || pacer != nil && pacer.Wait(n) != nil {
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

func (p *retryPolicy) attempt(n *scope.Node, number int, fn func(context.Context) error) error {
	o := taskOptions{Settings: scope.Settings{Name: "attempt", ID: strconv.Itoa(number), Timeout: p.Timeout}, maxTasks: maxTasksOf(n)}
	kind := scope.KindRun
	if n.Kind() == scope.KindSupervise {
		kind = scope.KindSupervise // its tasks fail alone
	}
	return runWith(n, scope.NewScope(), kind, fn, &o)
}

func (p *retryPolicy) worthwhile(err error) bool {
	if mark, ok := scope.As[interface{ Permanent() bool }](err); ok && mark.Permanent() {
		return false
	}
	return p.If == nil || p.If(err)
}

// wait returns how long to wait after err; bound is the upper limit of the exponential backoff.
func (p *retryPolicy) wait(bound float64, err error) time.Duration {
	if delayed, ok := scope.As[interface{ RetryAfter() time.Duration }](err); ok {
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
