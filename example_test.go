package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

var errNotFound = errors.New("not found")

// fetch simulates a request. A url that ends in missing fails; one that ends in slow waits until it is canceled.
func fetch(ctx context.Context, url string) (string, error) {
	wait := time.Millisecond
	if strings.HasSuffix(url, "slow") {
		wait = time.Hour
	}
	if err := meanwhile.Sleep(ctx, wait); err != nil {
		return "", fmt.Errorf("fetch %s: %w", url, err)
	}
	if strings.HasSuffix(url, "missing") {
		return "", fmt.Errorf("fetch %s: %w", url, errNotFound)
	}
	return "page " + url, nil
}

// The code is plain and sequential, the waits are concurrent: the pages arrive in the order of the urls, while up to eight
// are fetched concurrently and the menu is loaded beside them.
func Example() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/missing", "/c"}))
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		menu := meanwhile.Async(ctx, func(ctx context.Context) (string, error) { return fetch(ctx, "/menu") })

		for page, err := range meanwhile.Map(ctx, urls, fetch, meanwhile.Limit(8)) {
			if err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(page)
		}

		page, err := menu.Wait(ctx)
		fmt.Println(page)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// page /a
	// page /b
	// item 2: fetch /missing: not found
	// page /c
	// page /menu
}

// The first failure cancels the other tasks. Run returns it when all of them have ended.
func ExampleRun() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/missing")
			return err
		}, meanwhile.Name("prices"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/slow")
			fmt.Println("stock gave up:", err)
			return err // an effect of the failure, not another one: Run leaves it out
		}, meanwhile.Name("stock"))
		return nil
	})
	fmt.Println(err)
	// Output:
	// stock gave up: fetch /slow: context canceled: task run/prices: fetch /missing: not found
	// task run/prices: fetch /missing: not found
}

// A scope in a task lets the task handle the failures in that scope.
func ExampleRun_nested() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		err := meanwhile.Run(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_, err := fetch(ctx, "/missing")
				return err
			})
			return nil
		}, meanwhile.Name("news"))
		if errors.Is(err, errNotFound) {
			fmt.Println("left out:", err)
			err = nil
		}
		return err
	}, meanwhile.Name("front page"))
	fmt.Println(err)
	// Output:
	// left out: task front page/news/#1: fetch /missing: not found
	// <nil>
}

// The tasks of a supervised scope fail alone. Supervise returns their failures at the end.
func ExampleSupervise() {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		mail := meanwhile.Go(ctx, func(ctx context.Context) error {
			return errors.New("no mail server")
		}, meanwhile.Name("mail"))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			<-mail.Done()
			page, err := fetch(ctx, "/home")
			fmt.Println("still served:", page)
			return err
		}, meanwhile.Name("pages"))
		return nil
	}, meanwhile.Name("site"))
	fmt.Println(err)
	// Output:
	// still served: page /home
	// task site/mail: no mail server
}

// The first failure leads, the others are joined after it.
func ExampleSupervise_joined() {
	noMail, noDisk := errors.New("no mail server"), errors.New("no disk")
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		mail := meanwhile.Go(ctx, func(ctx context.Context) error { return noMail }, meanwhile.Name("mail"))
		<-mail.Done()
		return noDisk // returned by the scope's own function: it leads, and cancels the tasks
	}, meanwhile.Name("site"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, noDisk), errors.Is(err, noMail))
	// Output:
	// no disk (and 1 more: task site/mail: no mail server)
	// true true
}

// A canceled task may finish work that must not be left half done.
func ExampleShield() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		orders := meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/orders/slow")
			fmt.Println(err)
			return meanwhile.Shield(ctx, time.Second, func(ctx context.Context) error {
				page, err := fetch(ctx, "/save") // has a second, counted from the cancellation
				fmt.Println(page)
				return err
			})
		})
		orders.Cancel(errors.New("shutting down"))
		return nil
	})
	fmt.Println(err)
	// Output:
	// fetch /orders/slow: context canceled: shutting down
	// page /save
	// <nil>
}

func ExampleGo() {
	var user, basket string
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			user, err = fetch(ctx, "/user")
			return err
		})
		meanwhile.Go(ctx, func(ctx context.Context) (err error) {
			basket, err = fetch(ctx, "/basket")
			return err
		})
		return nil
	})
	// Both tasks have ended, so their variables are safe to read.
	fmt.Println(user, basket, err)
	// Output:
	// page /user page /basket <nil>
}

func ExampleAsync() {
	count := func(ctx context.Context) (int, error) { return 3, meanwhile.Sleep(ctx, time.Millisecond) }

	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		orders := meanwhile.Async(ctx, count)
		user, err := fetch(ctx, "/user") // the orders are counted at the same time
		if err != nil {
			return err
		}
		n, err := orders.Wait(ctx)
		fmt.Println(user, "has", n, "orders")
		return err
	})
	fmt.Println(err)
	// Output:
	// page /user has 3 orders
	// <nil>
}

// Below Supervise, a failure that was returned by Wait counts as handled.
func ExampleTask_Wait() {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		news := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
			return fetch(ctx, "/missing")
		}, meanwhile.Name("news"))

		page, err := news.Wait(ctx)
		if err != nil {
			fmt.Println(err)
			page = "no news today"
		}
		fmt.Println(page)
		return nil
	})
	fmt.Println(err)
	// Output:
	// task supervise/news: fetch /missing: not found
	// no news today
	// <nil>
}

// The ctx of Wait belongs to the caller: when it ends, Wait returns and the task keeps running.
func ExampleTask_Wait_deadline() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		printed := make(chan struct{})
		report := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
			<-printed
			return "report", nil
		})

		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_, err := report.Wait(short)
		fmt.Println("not yet:", err)

		close(printed)
		text, err := report.Wait(ctx)
		fmt.Println("now:", text)
		return err
	})
	fmt.Println(err)
	// Output:
	// not yet: context deadline exceeded
	// now: report
	// <nil>
}

// A task that stops because it was canceled by its handle has not failed: its scope continues.
func ExampleTask_Cancel() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		film := meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
			return fetch(ctx, "/film/slow")
		}, meanwhile.Name("film"))

		film.Cancel(errors.New("the viewer left"))
		_, err := film.Wait(ctx)
		fmt.Println(err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// task run/film: fetch /film/slow: context canceled: the viewer left
	// <nil>
}

func ExampleTask_Done() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		index := meanwhile.Go(ctx, func(ctx context.Context) error { return meanwhile.Sleep(ctx, 5*time.Millisecond) })

		for beat := time.Tick(time.Millisecond); ; {
			select {
			case <-beat: // draw a progress bar
			case <-index.Done():
				fmt.Println("the index is complete")
				return nil
			}
		}
	})
	fmt.Println(err)
	// Output:
	// the index is complete
	// <nil>
}

func ExampleAll() {
	parts, err := meanwhile.All(context.Background(),
		func(ctx context.Context) (string, error) { return fetch(ctx, "/head") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/body") },
	)
	fmt.Println(parts, err)
	// Output:
	// [page /head page /body] <nil>
}

// The first success counts. The slow mirror is canceled, and has returned before Any returns.
func ExampleAny() {
	page, err := meanwhile.Any(context.Background(),
		func(ctx context.Context) (string, error) { return fetch(ctx, "/mirror1/missing") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/mirror2/slow") },
		func(ctx context.Context) (string, error) { return fetch(ctx, "/mirror3") },
	)
	fmt.Println(page, err)
	// Output:
	// page /mirror3 <nil>
}

func ExampleMap() {
	ctx := context.Background()
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/c"}))
	size := func(ctx context.Context, page string) (int, error) { return len(page), nil }

	// Streams are pulled: nothing is fetched before the loop asks for it.
	pages := meanwhile.Map(ctx, urls, fetch, meanwhile.Limit(2))
	for n, err := range meanwhile.Map(ctx, pages, size) {
		fmt.Println(n, err)
	}
	// Output:
	// 7 <nil>
	// 7 <nil>
	// 7 <nil>
}

// An item that fails is yielded as an error in its place, and the loop decides whether to continue.
func ExampleMap_errors() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/missing", "/b"}))
	for page, err := range meanwhile.Map(context.Background(), urls, fetch) {
		var item *meanwhile.ItemError
		switch {
		case err == nil:
			fmt.Println(page)
		case errors.As(err, &item):
			fmt.Println("left out:", item.Input)
		default:
			fmt.Println("the stream itself ended:", err) // a failed source or a canceled ctx
		}
	}
	// Output:
	// page /a
	// left out: /missing
	// page /b
}

// Leaving the loop cancels the running fetches and waits until they have returned.
func ExampleMap_leave() {
	var running atomic.Int64
	counted := func(ctx context.Context, url string) (string, error) {
		running.Add(1)
		defer running.Add(-1)
		return fetch(ctx, url)
	}
	urls := meanwhile.From(slices.Values([]string{"/a", "/b/slow", "/c/slow"}))
	for page, err := range meanwhile.Map(context.Background(), urls, counted) {
		fmt.Println(page, err)
		break
	}
	fmt.Println(running.Load(), "still run")
	// Output:
	// page /a <nil>
	// 0 still run
}

func ExampleEach() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/missing"}))
	err := meanwhile.Each(context.Background(), urls, func(ctx context.Context, url string) error {
		_, err := fetch(ctx, url) // and put it into the index
		return err
	}, meanwhile.Limit(8))
	fmt.Println(err)
	// Output:
	// item 2: fetch /missing: not found
}

func ExampleCollect() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/missing", "/c"}))
	pages, err := meanwhile.Collect(meanwhile.Map(context.Background(), urls, fetch))
	fmt.Println(pages)
	fmt.Println(err)
	// Output:
	// [page /a page /b]
	// item 2: fetch /missing: not found
}

// A database inserts many rows in one statement as fast as one row.
func ExampleBatch() {
	ctx := context.Background()
	rows := meanwhile.From(slices.Values([]string{"ada", "bob", "cy", "di", "eve"}))
	for batch, err := range meanwhile.Batch(ctx, rows, 2, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("insert", batch)
	}
	// Output:
	// insert [ada bob]
	// insert [cy di]
	// insert [eve]
}

// A batch is yielded after some time even if it is not full.
func ExampleBatch_wait() {
	ctx := context.Background()
	records := make(chan string, 1)
	records <- "started"
	for batch, err := range meanwhile.Batch(ctx, meanwhile.Receive(ctx, records), 100, time.Millisecond) {
		fmt.Println(batch, err)
		close(records)
	}
	// Output:
	// [started] <nil>
}

func ExampleFrom() {
	visits := map[string]int{"/a": 3, "/b": 4}
	urls := meanwhile.From(maps.Keys(visits))
	pages, err := meanwhile.Collect(meanwhile.Map(context.Background(), urls, fetch))
	slices.Sort(pages) // a map has no order
	fmt.Println(pages, err)
	// Output:
	// [page /a page /b] <nil>
}

func ExampleReceive() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		changed := make(chan string)
		meanwhile.Go(ctx, func(ctx context.Context) error {
			defer close(changed) // ends the stream
			for _, file := range []string{"a.md", "b.md"} {
				select {
				case changed <- file:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}, meanwhile.Name("watch"))

		for page, err := range meanwhile.Map(ctx, meanwhile.Receive(ctx, changed), fetch) {
			fmt.Println(page, err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// page a.md <nil>
	// page b.md <nil>
	// <nil>
}

func ExampleLines() {
	file := strings.NewReader("12\r\n30\n\nfour\n") // or a connection, a pipe, standard input
	number := func(ctx context.Context, line string) (int, error) { return strconv.Atoi(line) }

	ctx := context.Background()
	for n, err := range meanwhile.Map(ctx, meanwhile.Lines(ctx, file), number) {
		fmt.Println(n, err)
	}
	// Output:
	// 12 <nil>
	// 30 <nil>
	// 0 item 2: strconv.Atoi: parsing "": invalid syntax
	// 0 item 3: strconv.Atoi: parsing "four": invalid syntax
}

// A source that waits passes its ctx on, so that it ends with the loop.
func ExampleGenerate() {
	ctx := context.Background()
	users := meanwhile.Generate(ctx, func(ctx context.Context, yield func(string) bool) error {
		for part := 1; ; part++ {
			page, err := fetch(ctx, "/users/"+strconv.Itoa(part))
			if err != nil {
				return err
			}
			if !yield(page) {
				return nil
			}
		}
	})
	for user, err := range meanwhile.Take(users, 2) {
		fmt.Println(user, err)
	}
	// Output:
	// page /users/1 <nil>
	// page /users/2 <nil>
}

func ExampleFilter() {
	ctx := context.Background()
	lines := meanwhile.Lines(ctx, strings.NewReader("a\n# a comment\nb\n"))
	urls := meanwhile.Filter(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	pages, err := meanwhile.Collect(meanwhile.Map(ctx, urls, fetch))
	fmt.Println(pages, err)
	// Output:
	// [page a page b] <nil>
}

// Take yields the first two pages that can be fetched.
func ExampleTake() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/missing", "/b", "/c"}))
	pages := meanwhile.Map(context.Background(), urls, fetch)
	for page, err := range meanwhile.Take(pages, 2) {
		fmt.Println(page, err)
	}
	// Output:
	// page /a <nil>
	//  item 1: fetch /missing: not found
	// page /b <nil>
}

// Each page consists of several words.
func ExampleFlatMap() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/b"}))
	pages := meanwhile.Map(context.Background(), urls, fetch)
	words := meanwhile.FlatMap(pages, func(page string) meanwhile.Stream[string] {
		return meanwhile.From(strings.FieldsSeq(page))
	})
	all, err := meanwhile.Collect(words)
	fmt.Printf("%q %v\n", all, err)
	// Output:
	// ["page" "/a" "page" "/b"] <nil>
}

// A function that yields is also a stream. This one reads a paginated list.
func ExampleStream() {
	users := func(ctx context.Context) meanwhile.Stream[string] {
		return func(yield func(string, error) bool) {
			for part := 1; part <= 2; part++ {
				page, err := fetch(ctx, "/users/"+strconv.Itoa(part))
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
	for user, err := range users(context.Background()) {
		fmt.Println(user, err)
	}
	// Output:
	// page /users/1 <nil>
	// page /users/2 <nil>
}

func ExampleSleep() {
	ctx, cancel := context.WithCancelCause(context.Background())
	fmt.Println(meanwhile.Sleep(ctx, time.Millisecond))

	cancel(errors.New("shutting down"))
	fmt.Println(meanwhile.Sleep(ctx, time.Hour))
	// Output:
	// <nil>
	// context canceled: shutting down
}

func ExampleEvery() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		beats, third := 0, make(chan struct{})
		meanwhile.Every(ctx, time.Millisecond, func(ctx context.Context) error {
			if beats++; beats == 3 {
				close(third)
			}
			return nil
		}, meanwhile.Name("heartbeat"))

		<-third
		fmt.Println("alive three times")
		return nil // the scope does not wait for the background task: it is canceled now
	})
	fmt.Println(err)
	// Output:
	// alive three times
	// <nil>
}

// The function that Every calls may end the task.
func ExampleStop() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		tries := 0
		ready := meanwhile.Every(ctx, time.Millisecond, func(ctx context.Context) error {
			if tries++; tries < 3 {
				return nil
			}
			fmt.Println("the server answers")
			return meanwhile.Stop
		})
		_, err := ready.Wait(ctx)
		return err
	})
	fmt.Println(err)
	// Output:
	// the server answers
	// <nil>
}

// Every record logged for a tenant contains the tenant, however deep in the tree.
func ExampleAttrs() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log := slog.New(tasklog.Handler(text))
	_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			log.InfoContext(ctx, "written", "files", 3)
			return nil
		}, meanwhile.Name("writer"))
		return nil
	}, meanwhile.Name("index"), meanwhile.Attrs(slog.String("tenant", "acme")))
	// Output:
	// level=INFO msg=written files=3 task=index/writer tenant=acme
}

func ExampleRetry() {
	attempts := 0
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		attempts++
		if attempts < 3 {
			return errors.New("connection reset")
		}
		page, err := fetch(ctx, "/a")
		fmt.Println(page, "at attempt", attempts)
		return err
	}, meanwhile.Retry(retry.Policy{Attempts: 5, Base: time.Millisecond}))
	fmt.Println(err)
	// Output:
	// page /a at attempt 3
	// <nil>
}

// In a stream, each item is retried by itself, and the others do not wait for it.
func ExampleRetry_stream() {
	policy := retry.Policy{Attempts: 2, Base: time.Millisecond, Timeout: time.Second}
	urls := meanwhile.From(slices.Values([]string{"/a", "/missing"}))
	pages := meanwhile.Map(context.Background(), urls, fetch, meanwhile.Retry(policy), meanwhile.Timeout(time.Minute))
	for page, err := range pages {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(page)
	}
	// Output:
	// page /a
	// item 1: after 2 attempts: fetch /missing: not found
}

func ExampleRate() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/c"}))
	begin := time.Now()
	pages, err := meanwhile.Collect(meanwhile.Map(context.Background(), urls, fetch,
		meanwhile.Rate(500, time.Second))) // one every 2 ms
	fmt.Println(pages, err)
	fmt.Println("spaced:", time.Since(begin) >= 4*time.Millisecond)
	// Output:
	// [page /a page /b page /c] <nil>
	// spaced: true
}

// One pacer for all calls of a service keeps the whole program within the rate that the service allows.
func ExamplePacer_Wait() {
	ctx := context.Background()
	service := meanwhile.Rate(500, time.Second)
	begin := time.Now()

	urls := meanwhile.From(slices.Values([]string{"/a", "/b"}))
	pages, err := meanwhile.Collect(meanwhile.Map(ctx, urls, fetch, service))
	fmt.Println(pages, err)

	if err := service.Wait(ctx); err != nil { // a call outside a stream also waits for its turn
		fmt.Println(err)
		return
	}
	page, err := fetch(ctx, "/c")
	fmt.Println(page, err)
	fmt.Println("spaced:", time.Since(begin) >= 4*time.Millisecond)
	// Output:
	// [page /a page /b] <nil>
	// page /c <nil>
	// spaced: true
}

// A service that reports its quota with each answer determines the rate.
func ExamplePacer_Set() {
	ctx := context.Background()
	service := meanwhile.Rate(1000, time.Second)
	quota := func(page string) int { return 500 } // as reported by a header of the answer

	for _, url := range []string{"/a", "/b", "/c"} {
		if err := service.Wait(ctx); err != nil {
			fmt.Println(err)
			return
		}
		page, err := fetch(ctx, url)
		fmt.Println(page, err)
		service.Set(quota(page), time.Second)
	}
	// Output:
	// page /a <nil>
	// page /b <nil>
	// page /c <nil>
}

func ExampleLimit() {
	var running atomic.Int64
	visit := func(ctx context.Context, url string) error {
		defer running.Add(-1)
		if n := running.Add(1); n > 2 {
			return fmt.Errorf("%d at once", n)
		}
		_, err := fetch(ctx, url)
		return err
	}
	urls := meanwhile.From(slices.Values([]string{"/a", "/b", "/c", "/d", "/e"}))
	fmt.Println(meanwhile.Each(context.Background(), urls, visit, meanwhile.Limit(2)))
	// Output:
	// <nil>
}

// A limit can be changed while its streams run.
func ExampleLimiter_Set() {
	limit := meanwhile.Limit(2)
	urls := meanwhile.From(slices.Values([]string{"/a", "/night", "/b"}))
	for page, err := range meanwhile.Map(context.Background(), urls, fetch, limit) {
		if page == "page /night" {
			limit.Set(16)
		}
		fmt.Println(page, err)
	}
	fmt.Println(limit.Current())
	// Output:
	// page /a <nil>
	// page /night <nil>
	// page /b <nil>
	// 16
}

// An adaptive limit is useful as a metric of a program.
func ExampleLimiter_Current() {
	limit := meanwhile.AdaptiveLimit(4, 100)
	fmt.Println("begins with", limit.Current())
	limit.Set(1000) // kept within its bounds
	fmt.Println("now at", limit.Current())
	// Output:
	// begins with 4
	// now at 100
}

// While the server responds as fast as before, it gets more concurrent requests; when it becomes slow or refuses requests,
// fewer.
func ExampleAdaptiveLimit() {
	limit := meanwhile.AdaptiveLimit(1, 100)
	urls := meanwhile.From(slices.Values(slices.Repeat([]string{"/page"}, 20)))
	err := meanwhile.Each(context.Background(), urls, func(ctx context.Context, url string) error {
		_, err := fetch(ctx, url)
		return err
	}, limit)
	fmt.Println(err)
	// Output:
	// <nil>
}

// A result is yielded as soon as it is ready, whatever its place in the input.
func ExampleUnordered() {
	second := make(chan struct{})
	download := func(ctx context.Context, file string) (string, error) {
		if file == "film" {
			<-second // slower than the other
		}
		return file + " is here", nil
	}
	files := meanwhile.From(slices.Values([]string{"film", "song"}))
	for text, err := range meanwhile.Map(context.Background(), files, download, meanwhile.Unordered()) {
		fmt.Println(text, err)
		if text == "song is here" {
			close(second)
		}
	}
	// Output:
	// song is here <nil>
	// film is here <nil>
}

// If each result is large, a small window keeps few of them in memory.
func ExampleWindow() {
	var started atomic.Int64
	decode := func(ctx context.Context, file string) (string, error) {
		started.Add(1)
		return "pixels of " + file, nil
	}
	files := meanwhile.From(slices.Values(slices.Repeat([]string{"photo"}, 50)))

	taken, most := int64(0), int64(0)
	for range meanwhile.Map(context.Background(), files, decode, meanwhile.Window(4)) {
		taken++
		most = max(most, started.Load()-taken)
	}
	fmt.Println(taken, "photos, never more than 4 ahead:", most <= 4)
	// Output:
	// 50 photos, never more than 4 ahead: true
}

// Names describe in errors and in the tree what a task is for; a task without a name has its number.
func ExampleName() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_, err := fetch(ctx, "/missing")
				return err
			})
			return nil
		}, meanwhile.Name("prices"))
		return nil
	}, meanwhile.Name("import"))
	fmt.Println(err)
	// Output:
	// task import/prices/#1: fetch /missing: not found
}

func ExampleTimeout() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/slow")
			return err
		}, meanwhile.Name("weather"), meanwhile.Timeout(2*time.Millisecond))
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// task run/weather: fetch /slow: context deadline exceeded: the timeout of 2ms is over
	// true
}

// In a stream, Timeout applies to each item.
func ExampleTimeout_stream() {
	urls := meanwhile.From(slices.Values([]string{"/slow", "/slow"}))
	for _, err := range meanwhile.Map(context.Background(), urls, fetch, meanwhile.Timeout(2*time.Millisecond)) {
		fmt.Println(err)
	}
	// Output:
	// item 0: fetch /slow: context deadline exceeded: the timeout of 2ms is over
	// item 1: fetch /slow: context deadline exceeded: the timeout of 2ms is over
}

func ExampleInBackground() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			<-ctx.Done() // refreshes a cache for as long as the scope has other tasks
			fmt.Println(context.Cause(ctx))
			return nil
		}, meanwhile.InBackground())

		page, err := fetch(ctx, "/a")
		fmt.Println(page)
		return err
	})
	fmt.Println(err)
	// Output:
	// page /a
	// the scope has ended, and with it its background tasks
	// <nil>
}

func ExampleObserve() {
	log := func(e meanwhile.Event) { fmt.Println(e.Kind, e.Path, e.Err) }

	_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/missing")
			return err
		}, meanwhile.Name("news"))
		return nil
	}, meanwhile.Name("front page"), meanwhile.Observe(log))
	// Output:
	// started front page <nil>
	// started front page/news <nil>
	// ended front page/news task front page/news: fetch /missing: not found
	// ended front page task front page/news: fetch /missing: not found
}

func ExampleEventKind_String() {
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(e meanwhile.Event) { // called by many tasks concurrently
		mu.Lock()
		defer mu.Unlock()
		counts[e.Kind.String()]++
	}
	urls := meanwhile.From(slices.Values([]string{"/a", "/b"}))
	_, err := meanwhile.Collect(meanwhile.Map(context.Background(), urls, fetch, meanwhile.Observe(count)))
	fmt.Println(counts, err) // of the stream and its two items
	// Output:
	// map[ended:3 started:3] <nil>
}

// A semaphore limits what several parts of a program use together: here the memory for decoding photos.
func ExampleNewSemaphore() {
	megabytes := meanwhile.NewSemaphore(100)
	sizes := meanwhile.From(slices.Values([]int{40, 90, 10, 60}))
	decode := func(ctx context.Context, size int) error {
		if err := megabytes.Acquire(ctx, size); err != nil {
			return err
		}
		defer megabytes.Release(size)
		return meanwhile.Sleep(ctx, time.Millisecond)
	}
	err := meanwhile.Each(context.Background(), sizes, decode)
	fmt.Println(err, megabytes.InUse())
	// Output:
	// <nil> 0
}

// Acquire returns when its ctx is canceled.
func ExampleSemaphore_Acquire() {
	connections := meanwhile.NewSemaphore(1)
	query := func(ctx context.Context) (string, error) {
		if err := connections.Acquire(ctx, 1); err != nil {
			return "", fmt.Errorf("wait for a connection: %w", err)
		}
		defer connections.Release(1)
		return fetch(ctx, "/rows")
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	rows, err := query(ctx)
	fmt.Println(rows, err)
	cancel(errors.New("shutting down"))
	_, err = query(ctx)
	fmt.Println(err)
	// Output:
	// page /rows <nil>
	// wait for a connection: context canceled: shutting down
}

// Ten uploads run, two of them concurrently: the third call of Go waits until one of the first two has ended.
func ExampleMaxTasks() {
	var running, most atomic.Int32
	upload := func(ctx context.Context) error {
		now := running.Add(1)
		defer running.Add(-1)
		if now > 2 {
			most.Store(now)
		}
		return meanwhile.Sleep(ctx, time.Millisecond)
	}
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		for range 10 {
			meanwhile.Go(ctx, upload)
		}
		return nil
	}, meanwhile.MaxTasks(2))
	fmt.Println(err, "more than two at once:", most.Load() > 0)
	// Output:
	// <nil> more than two at once: false
}

func ExampleSemaphore_TryAcquire() {
	rebuild := meanwhile.NewSemaphore(1)
	request := func() string {
		if !rebuild.TryAcquire(1) {
			return "a rebuild runs already"
		}
		return "rebuilding" // and call Release(1) at its end
	}
	fmt.Println(request())
	fmt.Println(request())
	// Output:
	// rebuilding
	// a rebuild runs already
}

// Release serves waiting callers in the order in which they asked.
func ExampleSemaphore_Release() {
	printer := meanwhile.NewSemaphore(1)
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		if err := printer.Acquire(ctx, 1); err != nil {
			return err
		}
		meanwhile.Go(ctx, func(ctx context.Context) error {
			if err := printer.Acquire(ctx, 1); err != nil {
				return err
			}
			defer printer.Release(1)
			fmt.Println("second page")
			return nil
		})
		fmt.Println("first page")
		printer.Release(1)
		return nil
	})
	fmt.Println(err)
	// Output:
	// first page
	// second page
	// <nil>
}

func ExampleSemaphore_InUse() {
	megabytes := meanwhile.NewSemaphore(100)
	if err := megabytes.Acquire(context.Background(), 60); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(megabytes.InUse())
	megabytes.Release(60)
	fmt.Println(megabytes.InUse())
	// Output:
	// 60
	// 0
}

func ExampleSemaphore_Waiting() {
	connections := meanwhile.NewSemaphore(1)
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		if err := connections.Acquire(ctx, 1); err != nil {
			return err
		}
		defer connections.Release(1)
		meanwhile.Go(ctx, func(ctx context.Context) error {
			if err := connections.Acquire(ctx, 1); err != nil {
				return err
			}
			defer connections.Release(1)
			return nil
		})
		for connections.Waiting() == 0 {
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		fmt.Println(connections.Waiting(), "in line")
		return nil
	})
	fmt.Println(err, connections.Waiting())
	// Output:
	// 1 in line
	// <nil> 0
}

// Blocking waits for a call that accepts no ctx, and abandons it when ctx is canceled.
func ExampleBlocking() {
	answered := make(chan struct{})
	oldDriver := func() (int, error) {
		<-answered
		return 42, nil
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := meanwhile.Blocking(ctx, oldDriver)
	fmt.Println(err)

	close(answered)
	n, err := meanwhile.Blocking(context.Background(), oldDriver)
	fmt.Println(n, err)
	// Output:
	// context deadline exceeded
	// 42 <nil>
}

func ExampleTaskError() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/missing")
			return err
		}, meanwhile.Name("prices"))
		return nil
	}, meanwhile.Name("import"))

	var failed *meanwhile.TaskError
	if errors.As(err, &failed) {
		fmt.Println("path: ", failed.Path)
		fmt.Println("error:", failed.Err)
	}
	// Output:
	// path:  import/prices
	// error: fetch /missing: not found
}

// A test of code that handles failures can create one.
func ExampleTaskError_Error() {
	err := &meanwhile.TaskError{Path: "import/prices", Err: errNotFound}
	fmt.Println(err)
	// Output:
	// task import/prices: not found
}

func ExampleTaskError_Unwrap() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			_, err := fetch(ctx, "/missing")
			return err
		})
		return nil
	})
	fmt.Println(errors.Is(err, errNotFound)) // found through the TaskError and the error that fetch wrapped
	// Output:
	// true
}

// A panic is the failure of its task, and the program keeps running.
func ExamplePanicError() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			panic("no such column")
		}, meanwhile.Name("parse"))
		return nil
	})

	var panicked *meanwhile.PanicError
	if errors.As(err, &panicked) {
		fmt.Println(panicked.Value, len(panicked.Stack) > 0)
	}
	// Output:
	// no such column true
}

func ExamplePanicError_Error() {
	rows := meanwhile.From(slices.Values([]string{"ada,36", "bob"}))
	age := func(ctx context.Context, row string) (string, error) { return strings.Split(row, ",")[1], nil }

	for age, err := range meanwhile.Map(context.Background(), rows, age) {
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n") // the stack follows
			fmt.Println(line)
			continue
		}
		fmt.Println(age)
	}
	// Output:
	// 36
	// item 1: panic: runtime error: index out of range [1] with length 1
}

// An error that was passed to panic can be found, such as one of the runtime's.
func ExamplePanicError_Unwrap() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		fields := strings.Split("bob", ",")
		_, err := fetch(ctx, "/age/"+fields[1])
		return err
	})
	var bug runtime.Error
	fmt.Println(errors.As(err, &bug), bug)
	// Output:
	// true runtime error: index out of range [1] with length 1
}

func ExampleItemError() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/missing", "/b"}))
	var again []any
	for _, err := range meanwhile.Map(context.Background(), urls, fetch) {
		var item *meanwhile.ItemError
		if errors.As(err, &item) {
			fmt.Println(item.Index, item.Err)
			again = append(again, item.Input)
		}
	}
	fmt.Println("to do again:", again)
	// Output:
	// 1 fetch /missing: not found
	// to do again: [/missing]
}

// The text does not contain the input, which may be a secret. The failure of a task that an item started has its path.
func ExampleItemError_Error() {
	urls := meanwhile.From(slices.Values([]string{"/login?token=s3cret"}))
	login := func(ctx context.Context, url string) (string, error) {
		meanwhile.Go(ctx, func(ctx context.Context) error { return errNotFound }, meanwhile.Name("user"))
		return "welcome", nil
	}
	for _, err := range meanwhile.Map(context.Background(), urls, login, meanwhile.Name("logins")) {
		fmt.Println(err)
	}
	// Output:
	// item 0: task logins/[0]/user: not found
}

func ExampleItemError_Unwrap() {
	urls := meanwhile.From(slices.Values([]string{"/a", "/missing"}))
	for _, err := range meanwhile.Map(context.Background(), urls, fetch) {
		fmt.Println(errors.Is(err, errNotFound))
	}
	// Output:
	// false
	// true
}

func ExampleID() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			return errors.New("out of stock")
		}, meanwhile.Name("order"), meanwhile.ID("4711"))
		return nil
	})
	fmt.Println(err)
	// Output:
	// task run/order 4711: out of stock
}
