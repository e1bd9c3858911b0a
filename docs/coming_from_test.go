package docs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// The lines of the tables in coming-from.md stand here, so that they compile, and with the result they give.

func Example_comingFrom() {
	ctx := context.Background()
	work := step
	name := func(ctx context.Context) (string, error) { return findUser(ctx) }
	items := meanwhile.Stream[string](func(yield func(string, error) bool) { _ = yield("/a", nil) && yield("/b", nil) })
	show := func(ctx context.Context, url string) error { _, err := fetch(ctx, url); return err }

	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, work)
		meanwhile.Go(ctx, work, meanwhile.Name("mail"))
		meanwhile.Go(ctx, work, meanwhile.InBackground())
		task := meanwhile.Async(ctx, name)
		if v, err := task.Wait(ctx); err != nil || v != "Ada" {
			return fmt.Errorf("wait: %v, %w", v, err)
		}
		<-task.Done()
		task.Cancel(errors.New("not needed"))
		meanwhile.Every(ctx, time.Minute, work)
		if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		return meanwhile.Shield(ctx, time.Second, work)
	})
	fmt.Println("a scope:", err)

	fmt.Println(meanwhile.Run(ctx, work))
	fmt.Println(meanwhile.Run(ctx, work, meanwhile.Timeout(time.Second)))
	fmt.Println(meanwhile.Supervise(ctx, work))
	fmt.Println(meanwhile.All(ctx, name, name))
	fmt.Println(meanwhile.Any(ctx, name, name))
	fmt.Println(meanwhile.Each(ctx, items, show, meanwhile.Limit(8)))
	fmt.Println(meanwhile.Run(ctx, work, meanwhile.MaxTasks(8)))
	fmt.Println(meanwhile.Collect(meanwhile.Map(ctx, items, fetch)))
	for range meanwhile.Map(ctx, items, fetch, meanwhile.Limit(8)) {
	}
	for range meanwhile.Map(ctx, items, fetch, meanwhile.Limit(8), meanwhile.Timeout(time.Second)) {
	}
	for range meanwhile.Map(ctx, items, fetch, meanwhile.Unordered()) {
	}
	for range meanwhile.Batch(ctx, items, 100, time.Second) {
	}
	s := meanwhile.NewSemaphore(8)
	fmt.Println(s.Acquire(ctx, 1))
	s.Release(1)
	_, err = meanwhile.Blocking(ctx, func() (int, error) { return oldDriver() })
	fmt.Println(err)
	// Output:
	// a scope: <nil>
	// <nil>
	// <nil>
	// <nil>
	// [Ada Ada] <nil>
	// Ada <nil>
	// <nil>
	// <nil>
	// [page /a page /b] <nil>
	// <nil>
	// <nil>
}
