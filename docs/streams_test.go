package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

func Example_each() {
	ctx := context.Background()
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/missing"}))
	err := meanwhile.Each(ctx, urls, func(ctx context.Context, url string) error {
		_, err := fetch(ctx, url)
		return err
	}, meanwhile.Limit(8))
	fmt.Println(err)
	// Output:
	// item 2: fetch /missing: not found
}

func Example_itemErrors() {
	ctx := context.Background()
	urls := meanwhile.From(slices.Values([]string{"/a", "/slow", "/missing", "/b"}))
	pages := meanwhile.Map(ctx, urls, fetch, meanwhile.Timeout(200*time.Millisecond))
	for page, err := range pages {
		var item *meanwhile.ItemError
		switch {
		case err == nil:
			fmt.Println(page)
		case errors.As(err, &item):
			fmt.Println(item.Index, item.Input, errors.Is(err, context.DeadlineExceeded))
		default:
			fmt.Println("the stream ends:", err)
		}
	}
	// Output:
	// page /a
	// 1 /slow true
	// 2 /missing false
	// page /b
}

func Example_collect() {
	ctx := context.Background()
	urls := meanwhile.From(slices.Values([]string{"/a", "/b"}))
	pages, err := meanwhile.Collect(meanwhile.Map(ctx, urls, fetch))
	fmt.Println(pages, err)
	// Output:
	// [page /a page /b] <nil>
}

func Example_leave() {
	numbers := func(yield func(int, error) bool) {
		for i := 0; yield(i, nil); i++ {
		}
	}
	double := func(ctx context.Context, i int) (int, error) {
		if i > 2 {
			defer meanwhile.Shield(ctx, time.Second, step) // tidies up, and is waited for
			return 0, meanwhile.Sleep(ctx, time.Hour)
		}
		return 2 * i, nil
	}
	for v, err := range meanwhile.Map(context.Background(), numbers, double) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v)
		if v == 4 {
			break
		}
	}
	fmt.Println("nothing runs any more")
	// Output:
	// 0
	// 2
	// 4
	// nothing runs any more
}

func Example_pipeline() {
	ctx := context.Background()
	parse := func(ctx context.Context, line string) (string, error) { return "/" + strings.TrimSpace(line), nil }

	lines := meanwhile.Lines(ctx, strings.NewReader("a\nb\nc\n"))
	urls := meanwhile.Map(ctx, lines, parse)
	pages := meanwhile.Map(ctx, urls, fetch, meanwhile.Limit(8))
	for batch, err := range meanwhile.Batch(ctx, pages, 2, time.Second) {
		fmt.Println(batch, err)
	}
	// Output:
	// [page /a page /b] <nil>
	// [page /c] <nil>
}

// words is a stream of one's own: a function that yields, and stops when yield returns false.
func words(r io.Reader) meanwhile.Stream[string] {
	return func(yield func(string, error) bool) {
		scanner := bufio.NewScanner(r)
		scanner.Split(bufio.ScanWords)
		for scanner.Scan() {
			if !yield(scanner.Text(), nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield("", err)
		}
	}
}

func Example_ownStream() {
	texts, err := meanwhile.Collect(words(strings.NewReader("plain  sequential code")))
	fmt.Println(len(texts), err)
	// Output:
	// 3 <nil>
}

func Example_generate() {
	ctx := context.Background()
	// pages asks for one page after the other, until there are no more.
	pages := meanwhile.Generate(ctx, func(ctx context.Context, yield func(string) bool) error {
		for number := 1; number <= 3; number++ {
			page, err := fetch(ctx, fmt.Sprintf("/users/%d", number))
			if err != nil {
				return err
			}
			if !yield(page) {
				return nil
			}
		}
		return nil
	})
	for page, err := range pages {
		fmt.Println(page, err)
	}
	// Output:
	// page /users/1 <nil>
	// page /users/2 <nil>
	// page /users/3 <nil>
}

func Example_combinators() {
	ctx := context.Background()
	lines := meanwhile.Lines(ctx, strings.NewReader("a b\n# not these\nc\n"))
	wanted := meanwhile.Filter(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	urls := meanwhile.FlatMap(wanted, func(line string) meanwhile.Stream[string] {
		return meanwhile.From(strings.FieldsSeq(line))
	})
	pages, err := meanwhile.Collect(meanwhile.Take(meanwhile.Map(ctx, urls, fetch), 2))
	fmt.Println(pages, err)
	// Output:
	// [page a page b] <nil>
}

func Example_retry() {
	attempts := 0
	flaky := func(ctx context.Context, url string) (string, error) {
		attempts++
		if attempts < 3 {
			return "", errors.New("connection reset")
		}
		return fetch(ctx, url)
	}
	urls := meanwhile.From(slices.Values([]string{"/a"}))
	policy := retry.Policy{Attempts: 5, Base: time.Millisecond, Timeout: time.Second}
	for page, err := range meanwhile.Map(context.Background(), urls, flaky, meanwhile.Retry(policy), meanwhile.Timeout(time.Minute)) {
		fmt.Println(page, err, "after", attempts, "attempts")
	}
	// Output:
	// page /a <nil> after 3 attempts
}

func Example_permanent() {
	attempts := 0
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		attempts++
		return retry.Permanent(errNotFound)
	}, meanwhile.Retry(retry.Policy{}))
	fmt.Println(err, attempts)
	// Output:
	// not found 1
}

func Example_changeLimit() {
	ctx := context.Background()
	limit := meanwhile.Limit(2)
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/c", "/d"}))
	for page, err := range meanwhile.Map(ctx, urls, fetch, limit) {
		if err != nil {
			fmt.Println(err)
		}
		if page == "page /a" {
			limit.Set(16) // it is night: take more
		}
	}
	fmt.Println(limit.Current())
	// Output:
	// 16
}

func Example_overloaded() {
	ask := func(ctx context.Context, url string) (string, error) {
		page, err := fetch(ctx, url)
		if errors.Is(err, errBusy) {
			return "", retry.Overloaded(err)
		}
		return page, err
	}
	urls := meanwhile.From(slices.Values([]string{"/a", "/b"}))
	pages, err := meanwhile.Collect(meanwhile.Map(context.Background(), urls, ask, meanwhile.AdaptiveLimit(1, 200)))
	fmt.Println(pages, err)
	// Output:
	// [page /a page /b] <nil>
}

var errBusy = errors.New("busy")

func Example_chunks() {
	ctx := context.Background()
	values := []int{3, 1, 4, 1, 5, 9, 2, 6}
	squares := func(ctx context.Context, values []int) ([]int, error) {
		results := make([]int, len(values))
		for i, v := range values {
			results[i] = v * v
		}
		return results, ctx.Err()
	}
	chunks := meanwhile.From(slices.Chunk(values, 3))
	for results, err := range meanwhile.Map(ctx, chunks, squares, meanwhile.Limit(runtime.GOMAXPROCS(0))) {
		fmt.Println(results, err)
	}
	// Output:
	// [9 1 16] <nil>
	// [1 25 81] <nil>
	// [4 36] <nil>
}

func TestStreamHonorsRetryAfter(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()
	ctx := t.Context()
	urls := meanwhile.From(slices.Values([]string{server.URL}))
	get := func(ctx context.Context, url string) (int64, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, retry.Permanent(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return io.Copy(io.Discard, response.Body)
		}
		err = fmt.Errorf("get %s: %s", url, response.Status)
		switch response.StatusCode {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			if seconds, notANumber := strconv.Atoi(response.Header.Get("Retry-After")); notANumber == nil {
				return 0, retry.After(err, time.Duration(seconds)*time.Second)
			}
			return 0, err
		}
		return 0, retry.Permanent(err)
	}
	pages := meanwhile.Map(ctx, urls, get, meanwhile.Limit(20), meanwhile.Retry(retry.Policy{Attempts: 5, MaxAfter: time.Minute}))
	sizes, err := meanwhile.Collect(pages)
	if err != nil || !slices.Equal(sizes, []int64{5}) || requests.Load() != 2 {
		t.Errorf("got %v, %v after %d requests, want one page at the second", sizes, err, requests.Load())
	}
}
