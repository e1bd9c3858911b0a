package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/live"
)

// getSnapshot fetches the snapshot that a program serves at a URL.
func getSnapshot(url string) (s live.Snapshot) {
	answer, err := http.Get(url + "?format=json")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		log.Fatal(err)
	}
	return s
}

// A program that already serves HTTP shows its tasks at an additional path. Here it inspects itself; more often, the client
// is curl, or the command meanwhile.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/tree", live.Handler(live.Config{}))
	server := httptest.NewServer(mux)
	defer server.Close()

	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		orders := make(chan string)
		meanwhile.Go(ctx, func(ctx context.Context) error {
			fmt.Println("got", <-orders)
			return nil
		}, meanwhile.Name("clerk"))

		for _, tree := range getSnapshot(server.URL + "/tree").Trees {
			for _, task := range tree.Tasks {
				fmt.Println(task.Path, task.State)
			}
		}
		orders <- "an order"
		return nil
	}, meanwhile.Name("shop"))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop/clerk running
	// got an order
}

// With the token, a task that hangs can be canceled from outside.
func ExampleConfig() {
	const token = "read it from a file that only administrators may read"
	server := httptest.NewServer(live.Handler(live.Config{CancelToken: token}))
	defer server.Close()

	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		hung := meanwhile.Go(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, meanwhile.Name("clerk"))

		task := getSnapshot(server.URL).Trees[0].Tasks[0]
		form := url.Values{"cancel": {strconv.FormatUint(uint64(task.ID), 10)}, "path": {task.Path}}
		r, err := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		fmt.Println(answer.Status)

		<-hung.Done()
		fmt.Println("the clerk has ended")
		return nil
	}, meanwhile.Name("shop"))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 204 No Content
	// the clerk has ended
}
