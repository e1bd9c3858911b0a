// Calls shows a concurrency limit and a rate limit. It makes the same 20 calls to an API, with a latency of 50 ms, in four
// ways: one by one, all concurrently, at most five concurrently, and at a rate of 40 per second.
//
// It prints how long each way took, and the highest number of concurrent calls at the server:
//
//	                             time     at once
//	one by one                   1.01 s         1
//	all at once                  0.05 s        20
//	at most 5 at once            0.20 s         5
//	40 a second                  0.53 s         3
//
// The server is part of the program.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	calls   = 20
	latency = 50 * time.Millisecond
)

func main() {
	if err := meanwhile.Run(context.Background(), run); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	api, err := serve(ctx)
	if err != nil {
		return err
	}
	var urls []string
	for i := range calls {
		urls = append(urls, fmt.Sprintf("http://%s/users/%d", api.address, i))
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = calls

	variants := []struct {
		what string
		call func() ([]string, error)
	}{
		{"one by one", func() ([]string, error) {
			var bodies []string
			for _, url := range urls {
				body, err := get(ctx, url)
				if err != nil {
					return nil, err
				}
				bodies = append(bodies, body)
			}
			return bodies, nil
		}},
		{"all at once", func() ([]string, error) {
			return meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(urls)), get))
		}},
		{"at most 5 at once", func() ([]string, error) {
			return meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(urls)), get, meanwhile.Limit(5)))
		}},
		{"40 a second", func() ([]string, error) {
			return meanwhile.Collect(meanwhile.Map(ctx, meanwhile.From(slices.Values(urls)), get, meanwhile.Rate(40, time.Second)))
		}},
	}
	fmt.Println("                             time     at once")
	for _, variant := range variants {
		if err := api.measure(variant.what, variant.call); err != nil {
			return err
		}
	}
	return nil
}

// get is common to all ways, and does not depend on how it is called.
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
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get %s: %s", url, response.Status)
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// server is an API that responds after a while and counts its concurrent calls.
type server struct {
	address string

	mu        sync.Mutex
	now, most int
}

// serve serves until ctx's scope ends.
func serve(ctx context.Context) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{address: listener.Addr().String()}
	h := &http.Server{Handler: s}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { h.Close() })
		if err := h.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("server"))
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	if meanwhile.Sleep(r.Context(), latency) != nil {
		return // the client has disconnected
	}
	fmt.Fprintf(w, "hello from %s", r.URL.Path)
}

// measure runs one way to make the calls and prints a line about it.
func (s *server) measure(what string, fn func() ([]string, error)) error {
	s.mu.Lock()
	s.most = 0
	s.mu.Unlock()
	start := time.Now()
	bodies, err := fn()
	if err != nil {
		return err
	}
	took := time.Since(start)
	if want := fmt.Sprintf("hello from /users/%d", calls-1); len(bodies) != calls || bodies[calls-1] != want {
		return fmt.Errorf("%s: got %q, want %d answers, the last %q", what, bodies, calls, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("%-28s %.2f s %9d\n", what, took.Seconds(), s.most)
	return nil
}
