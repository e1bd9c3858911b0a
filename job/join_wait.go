package job

import (
	"context"
	"errors"
	"slices"

	"github.com/meanwhile-go/meanwhile"
)

var (
	errWoken    = errors.New("another store has woken the waiter") // ends the waits at the other stores
	errWaitOver = errors.New("the wait was ended")                 // not a fault of the store
)

// Wait waits at all stores that answer, until one of them returns. It fails if none answers.
func (j *Joined) Wait(ctx context.Context, queues ...string) ([]string, error) {
	if err := j.enter(ctx, "wait for jobs"); err != nil {
		return nil, err
	}
	answers := make([]answer[[]string], len(j.parts))
	_ = meanwhile.Run(ctx, func(inner context.Context) error { // errors are in the answers
		for i, p := range j.parts {
			answers[i] = answer[[]string]{part: p, err: errWoken} // if its task does not start
			meanwhile.Go(inner, func(inner context.Context) error {
				answers[i] = ask(inner, j, p, 0, func(inner context.Context, p *part) ([]string, error) {
					due, err := p.Wait(inner, queues...)
					if err != nil && inner.Err() != nil {
						err = errWaitOver
					}
					return due, err
				})
				if answers[i].err != nil {
					return nil
				}
				return errWoken // which cancels the others
			})
		}
		return nil
	}, meanwhile.Name("joined stores"))
	var due []string
	woken := false
	for _, a := range answers {
		if a.err == nil {
			due, woken = append(due, a.got...), true
		}
	}
	if woken {
		slices.Sort(due)
		return slices.Compact(due), nil
	}
	if err := j.enter(ctx, "wait for jobs"); err != nil {
		return nil, err
	}
	return nil, allFailed(answers)
}
