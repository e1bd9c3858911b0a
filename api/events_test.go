package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A counting store counts the calls of Counts.
type counting struct {
	*memory.Store
	n atomic.Int64
}

func (c *counting) Counts(ctx context.Context) ([]job.Count, error) {
	c.n.Add(1)
	return c.Store.Counts(ctx)
}

// follow opens a stream, and returns a function that ends it and returns what it has sent.
func follow(t *testing.T, h http.Handler, path string) (end func() string) {
	ctx, cancel := context.WithCancel(t.Context())
	w, over := httptest.NewRecorder(), make(chan struct{})
	r := httptest.NewRequest("GET", api.Prefix+path, nil).WithContext(ctx)
	go func() {
		defer close(over)
		h.ServeHTTP(w, r)
	}()
	return func() string {
		cancel()
		<-over
		return w.Body.String()
	}
}

func TestEventsOfCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: memory.New()}
		h := api.New(api.Config{Store: store})
		var ends []func() string
		for range 50 {
			ends = append(ends, follow(t, h, "/events"))
		}
		time.Sleep(20*time.Second + time.Second/2)
		ask(h, "POST", "/jobs", `{"kind":"k"}`)
		time.Sleep(20 * time.Second)
		if n := store.n.Load(); n > 42 {
			t.Errorf("50 streams asked the store %d times within 40 s; want once a second", n)
		}
		for _, end := range ends {
			got := end()
			if strings.Count(got, "event: counts\n") != 2 || !strings.Contains(got, `data: {"counts":[{"queue":"default","kind":"k","state":"queued","n":1}]}`+"\n\n") ||
				!strings.Contains(got, "event: queues\n") || strings.Count(got, ": nothing new\n\n") < 1 || !strings.HasPrefix(got, "retry: 2000\n\n") {
				t.Fatalf("the stream was\n%s", got)
			}
		}
	})
}

func TestEventsOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := api.New(api.Config{Store: store})
		one := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201).ID
		gone := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201).ID
		end := follow(t, h, "/events?id="+one.String()+"&id="+gone.String())
		time.Sleep(5 * time.Second)
		ask(h, "DELETE", "/jobs/"+gone.String(), "")
		time.Sleep(5 * time.Second)
		ask(h, "POST", "/jobs/"+one.String()+"/cancel", "")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got := end() // the stream has ended by itself: there is nothing to cancel
		if strings.Count(got, "event: job\n") != 3 || strings.Count(got, "event: gone\ndata: {\"id\":\""+gone.String()+"\"}") != 1 ||
			!strings.Contains(got, `"state":"canceled"`) || !strings.HasSuffix(got, "event: end\ndata: {}\n\n") {
			t.Errorf("the stream was\n%s", got)
		}
	})
}

// TestHeadOfEvents: a HEAD request is answered with the headers of a stream, and ends.
func TestHeadOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := ask(api.New(api.Config{Store: memory.New()}), "HEAD", "/events", "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || time.Since(begun) > 0 {
			t.Errorf("%d %v after %v", w.Code, w.Header(), time.Since(begun))
		}
	})
}

// TestShutdownEndsEvents shuts down the server of a program while a client follows events: http.Server.Shutdown waits for all responses.
func TestShutdownEndsEvents(t *testing.T) {
	server := httptest.NewServer(api.New(api.Config{Store: memory.New()}))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + api.Prefix + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Fatalf("the server waits for the stream: %v", err)
	}
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), "event: counts") {
		t.Errorf("got %q, %v", body, err)
	}
}

// TestStopEndsEvents does the same for a server that is not an http.Server.
func TestStopEndsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := api.New(api.Config{Store: memory.New()})
		ended := false
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", api.Prefix+"/events", nil))
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Fatal("the stream ended by itself")
		}
		h.Stop()
		synctest.Wait()
		if !ended {
			t.Error("the stream continues after Stop")
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := api.New(api.Config{Store: memory.New()})
		var ends []func() string
		for range 100 {
			ends = append(ends, follow(t, h, "/events"))
		}
		synctest.Wait()
		if w := ask(h, "GET", "/events", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "100 streams are open") {
			t.Errorf("one more: got %d %s", w.Code, w.Body)
		}
		for _, end := range ends {
			end()
		}
		end := follow(t, h, "/events")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := end(); !strings.Contains(got, "event: counts") {
			t.Errorf("after other streams have ended: got %s", got)
		}
	})
}
