// Command measure compares twice whether concurrency is worth it: for thirty requests to a server that takes 20 ms, and for
// doubling five numbers.
//
//	go run ./examples/measure
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/measure"
	"github.com/meanwhile-go/meanwhile/process"
)

func main() {
	process.Main(func(ctx context.Context) error {
		if err := compareRequests(ctx); err != nil {
			return err
		}
		return compareNumbers(ctx)
	})
}

func compareRequests(ctx context.Context) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if meanwhile.Sleep(r.Context(), 20*time.Millisecond) == nil {
			fmt.Fprintln(w, "hello")
		}
	}))
	defer server.Close()
	urls := slices.Repeat([]string{server.URL}, 30)

	oneByOne := func(ctx context.Context) error {
		for _, url := range urls {
			if _, err := get(ctx, url); err != nil {
				return err
			}
		}
		return nil
	}
	atOnce := func(limit int) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(urls)), get, meanwhile.Limit(limit)))
			return err
		}
	}
	return compare(ctx, 2*time.Second,
		measure.Func("one by one", oneByOne),
		measure.Func("three at once", atOnce(3)),
		measure.Func("thirty at once", atOnce(30)))
}

func compareNumbers(ctx context.Context) error {
	numbers := []int{1, 2, 3, 4, 5}
	loop := func(context.Context) error {
		doubled := make([]int, 0, len(numbers))
		for _, n := range numbers {
			doubled = append(doubled, 2*n)
		}
		return check(doubled)
	}
	tasks := func(ctx context.Context) error {
		doubled, err := meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(numbers)),
			func(_ context.Context, n int) (int, error) { return 2 * n, nil }))
		if err != nil {
			return err
		}
		return check(doubled)
	}
	return compare(ctx, time.Second, measure.Func("a loop", loop), measure.Func("a task for each", tasks))
}

func compare(ctx context.Context, d time.Duration, functions ...measure.Function) error {
	report, err := measure.Compare(ctx, measure.Config{Time: d}, functions...)
	fmt.Println(report) // if ctx was canceled, of the complete rounds
	return err
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func check(doubled []int) error {
	if !slices.Equal(doubled, []int{2, 4, 6, 8, 10}) {
		return fmt.Errorf("doubled numbers are %v", doubled)
	}
	return nil
}
