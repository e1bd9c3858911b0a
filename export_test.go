package meanwhile

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Listed returns how many tasks the list of ctx's task holds, including ended ones.
func Listed(ctx context.Context) int {
	return scope.From(ctx).Listed()
}

// Pullers returns how many yield functions are registered.
func Pullers() (count int) {
	pullers.Range(func(any, any) bool {
		count++
		return true
	})
	return count
}

// WithCause adds a cause to the error of a cancellation.
func WithCause(err, cause error) error { return scope.WithCause(err, cause) }

// Suspend makes the pacer find that it has not run for some time, as when the process was suspended.
func (p *Pacer) Suspend(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.last.Add(-d)
	for place := p.waiting.Front(); place != nil; place = place.Next() {
		w := place.Value.(*pacerWait)
		w.asked = w.asked.Add(-d)
	}
	p.give(time.Now())
}
