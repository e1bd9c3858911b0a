package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

var errNotFound = errors.New("not found")

func ExamplePolicy() {
	policy := retry.Policy{
		Attempts: 10,
		Base:     time.Millisecond,
		Max:      10 * time.Millisecond,
		Timeout:  time.Second, // of each attempt
		If:       func(err error) bool { return !errors.Is(err, errNotFound) },
	}
	attempts := 0
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		attempts++
		return fmt.Errorf("fetch /missing: %w", errNotFound)
	}, meanwhile.Retry(policy))
	fmt.Println(err, "after", attempts, "attempt")
	// Output:
	// fetch /missing: not found after 1 attempt
}

// The function that knows the reason of a failure marks whether another attempt makes sense.
func ExamplePermanent() {
	attempts := 0
	login := func(ctx context.Context) error {
		attempts++
		return retry.Permanent(errors.New("wrong password"))
	}
	err := meanwhile.Run(context.Background(), login, meanwhile.Retry(retry.Policy{}))
	fmt.Println(err, "after", attempts, "attempt")
	// Output:
	// wrong password after 1 attempt
}

// The server returns the time after which to retry, and the next attempt waits for that long.
func ExampleAfter() {
	attempts := 0
	call := func(ctx context.Context) error {
		attempts++
		if attempts == 1 {
			return retry.After(errors.New("too many requests"), 2*time.Millisecond)
		}
		return nil
	}
	err := meanwhile.Run(context.Background(), call, meanwhile.Name("call"),
		meanwhile.Retry(retry.Policy{}),
		meanwhile.Observe(func(e meanwhile.Event) {
			if e.Kind == meanwhile.TaskRetrying {
				fmt.Printf("%v, attempt %d of %s in %v\n", e.Err, e.Attempt, e.Path, e.Delay)
			}
		}))
	fmt.Println(err)
	// Output:
	// too many requests, attempt 2 of call in 2ms
	// <nil>
}

func ExampleOverloaded() {
	limit := meanwhile.AdaptiveLimit(1, 100)
	limit.Set(40)
	call := func(ctx context.Context, url string) (string, error) {
		return "", retry.Overloaded(errors.New("429 too many requests"))
	}
	urls := meanwhile.From(slices.Values(slices.Repeat([]string{"/page"}, 40)))
	failed := 0
	for _, err := range meanwhile.Map(context.Background(), urls, call, limit) {
		if err != nil {
			failed++
		}
	}
	fmt.Println(failed, "answers said it was too much, the limit is lower now:", limit.Current() < 40)
	// Output:
	// 40 answers said it was too much, the limit is lower now: true
}
