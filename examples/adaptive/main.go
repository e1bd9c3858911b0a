// Adaptive shows an adaptive concurrency limit. It calls a server whose capacity changes: 40 concurrent calls, then 10, then
// 40 again. Calls beyond that wait in a queue, and beyond twice the capacity the server returns 503. The client knows none of
// this. It has an AdaptiveLimit between 1 and 200, and reports each 503 to it with retry.Overloaded.
//
// Every 150 ms it prints a line with the server's capacity (|) and the client's limit, the length of the bar:
//
//	  ms  capacity limit
//	 150        40    51 ########################################|##########
//	 300        40    47 ########################################|######
//	 …
//	1650        10    14 ##########|###
//
// At the end it prints how many calls succeeded, and how many were rejected with 503.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/retry"
)

const (
	work   = 20 * time.Millisecond // the duration of a call that does not have to queue
	phase  = 1500 * time.Millisecond
	sample = 150 * time.Millisecond
)

var phases = []int{40, 10, 40}

var errBusy = errors.New("the server is too busy")

func main() {
	if err := meanwhile.Run(context.Background(), run); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := serve(ctx)
	if err != nil {
		return err
	}
	limit := meanwhile.AdaptiveLimit(1, 200)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 200

	fmt.Println("  ms  capacity limit")
	start := time.Now()
	meanwhile.Every(ctx, sample, func(context.Context) error {
		fmt.Println(row(time.Since(start), s.capacity(), limit.Current()))
		return nil
	})

	done := errors.New("the time is over")
	ctx, cancel := context.WithCancelCause(ctx)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		defer cancel(done)
		return meanwhile.Sleep(ctx, phase*time.Duration(len(phases)))
	})

	answered, refused := 0, 0
	for _, err := range meanwhile.Map(ctx, endless, s.call, limit, meanwhile.Unordered()) {
		switch {
		case err == nil:
			answered++
		case errors.Is(err, errBusy):
			refused++
		case !errors.Is(err, done):
			return err
		}
	}
	fmt.Printf("%d calls answered, %d refused by 503\n", answered, refused)
	return nil
}

// endless yields 0, 1, 2 and so on; the stream pulls only what it can start.
func endless(yield func(int, error) bool) {
	for i := 0; yield(i, nil); i++ {
	}
}

func row(since time.Duration, capacity, limit int) string {
	bar := []byte(strings.Repeat("#", limit))
	for len(bar) <= capacity {
		bar = append(bar, ' ')
	}
	bar[capacity] = '|'
	return fmt.Sprintf("%4d %9d %5d %s", since.Round(10*time.Millisecond).Milliseconds(), capacity, limit, bar)
}

// server has a limited capacity: it works on a limited number of calls concurrently, and further calls queue.
type server struct {
	url    string
	start  time.Time
	budget *meanwhile.Semaphore // of the largest capacity; the server itself acquires what is not available now
	calls  atomic.Int64
}

func serve(ctx context.Context) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + listener.Addr().String(), start: time.Now(), budget: meanwhile.NewSemaphore(phases[0])}
	h := &http.Server{Handler: s}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { h.Close() })
		if err := h.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("server"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		if err := meanwhile.Sleep(ctx, phase); err != nil {
			return err
		}
		lost := phases[0] - phases[1]
		if err := s.budget.Acquire(ctx, lost); err != nil {
			return err
		}
		defer s.budget.Release(lost)
		return meanwhile.Sleep(ctx, 2*phase-time.Since(s.start))
	}, meanwhile.Name("less capacity"))
	return s, nil
}

func (s *server) capacity() int {
	return phases[min(int(time.Since(s.start)/phase), len(phases)-1)]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.calls.Add(-1)
	if s.calls.Add(1) > int64(2*s.capacity()) {
		http.Error(w, "too many calls", http.StatusServiceUnavailable)
		return
	}
	if s.budget.Acquire(r.Context(), 1) != nil {
		return // the client has disconnected
	}
	defer s.budget.Release(1)
	_ = meanwhile.Sleep(r.Context(), work)
}

// call is the function that the client runs for each item.
func (s *server) call(ctx context.Context, _ int) (struct{}, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return struct{}{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return struct{}{}, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return struct{}{}, nil
	case http.StatusServiceUnavailable:
		return struct{}{}, retry.Overloaded(errBusy)
	}
	return struct{}{}, fmt.Errorf("call: %s", response.Status)
}
