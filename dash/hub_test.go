package dash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A reader is a browser that shows a live page.
type reader struct {
	header http.Header
	status int

	mu    sync.Mutex
	got   strings.Builder
	wait  time.Duration // duration of each write
	fails bool
	ended chan struct{}
	leave context.CancelFunc
}

func (r *reader) Header() http.Header    { return r.header }
func (r *reader) WriteHeader(status int) { r.status = status }
func (r *reader) Flush()                 {}
func (r *reader) Write(b []byte) (int, error) {
	time.Sleep(r.wait)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return 0, errors.New("the connection is gone")
	}
	return r.got.Write(b)
}

func (r *reader) events() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// page returns the parts of the page that the reader sees after all events.
func (r *reader) page(t *testing.T) map[string]string {
	t.Helper()
	page := map[string]string{}
	for event := range strings.SplitSeq(r.events(), "\n\n") {
		data, ok := strings.CutPrefix(event, "event: parts\ndata: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &page); err != nil {
			t.Fatal(err)
		}
	}
	if len(page) == 0 {
		t.Error("no part of the page was sent")
	}
	return page
}

// open opens a live page until the reader leaves, or the test ends.
func open(t *testing.T, h http.Handler, path string, wait time.Duration, header ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{header: http.Header{}, wait: wait, ended: make(chan struct{}), leave: cancel}
	request := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	request.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	go func() {
		defer close(r.ended)
		h.ServeHTTP(r, request)
	}()
	return r
}

// read returns the first event of a live page.
func read(t *testing.T, h http.Handler, path string) (event string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	request.Header.Set("Accept", "text/event-stream")
	w := &glance{httptest.NewRecorder(), cancel}
	h.ServeHTTP(w, request)
	if w.Body.Len() == 0 {
		t.Errorf("%s is not live: %d", path, w.Code)
	}
	return w.Body.String()
}

// A glance disconnects after the first event.
type glance struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (g *glance) Write(b []byte) (int, error) {
	defer g.leave()
	return g.ResponseRecorder.Write(b)
}

// A counted store counts reads.
type counted struct {
	job.Store
	lists, counts, queues atomic.Int64
	fails                 atomic.Bool
}

func (c *counted) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	c.lists.Add(1)
	return c.Store.List(ctx, f)
}

func (c *counted) Counts(ctx context.Context) ([]job.Count, error) {
	c.counts.Add(1)
	if c.fails.Load() {
		return nil, errors.New("the disk is <full>")
	}
	return c.Store.Counts(ctx)
}

func (c *counted) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	c.queues.Add(1)
	return c.Store.Queues(ctx)
}

func TestManyReadersCostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memory.New()}
		h := dash.New(dash.Config{Store: s})
		for i := range 50 {
			open(t, h, "/jobs?kind=mail", 0)
			if i%10 == 0 {
				time.Sleep(77 * time.Millisecond) // they arrive at different times
			}
		}
		synctest.Wait()
		before, counts := s.lists.Load(), s.counts.Load()
		time.Sleep(60 * time.Second)
		if got := s.lists.Load() - before; got < 55 || got > 60 {
			t.Errorf("50 readers had %d lists read in a minute, want about 60", got)
		}
		if got := s.counts.Load() - counts; got > 60 {
			t.Errorf("the counts were read %d times in a minute for 50 readers", got)
		}
	})
}

// TestPagesShareReads: data that several pages show is read once for all of them.
func TestPagesShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memory.New()}
		h := dash.New(dash.Config{Store: s})
		for _, path := range []string{"/", "/queues", "/jobs", "/jobs?kind=a", "/jobs?kind=b"} {
			open(t, h, path, 0)
		}
		time.Sleep(time.Minute)
		for what, n := range map[string]int64{"counts": s.counts.Load(), "queues": s.queues.Load()} {
			if n < 55 || n > 65 {
				t.Errorf("%s were read %d times in a minute, want about 60", what, n)
			}
		}
	})
}

func TestNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memory.New()}
		h := dash.New(dash.Config{Store: s})
		time.Sleep(time.Hour)
		if n := s.lists.Load() + s.counts.Load() + s.queues.Load(); n != 0 {
			t.Errorf("%d reads before a page was open", n)
		}
		readers := []*reader{open(t, h, "/jobs", 0), open(t, h, "/jobs", 0)}
		time.Sleep(10 * time.Second)
		for _, r := range readers {
			r.leave()
			<-r.ended // nothing of it is left: synctest would report a goroutine
		}
		synctest.Wait() // until the page is rendered, if that had started
		n := s.lists.Load()
		time.Sleep(time.Hour)
		if got := s.lists.Load(); n == 0 || got != n {
			t.Errorf("%d reads while a page was open, %d after that", n, got-n)
		}
	})
}

func TestOnlyChangesAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		enqueue(t, s, "mail", `{"to":"ada"}`, 1)
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, "/jobs", 0)
		synctest.Wait()
		first := r.events()
		if got := strings.Count(first, "event: parts"); got != 1 || !strings.Contains(first, "mail") {
			t.Fatalf("got %d events: %s", got, first)
		}
		time.Sleep(10 * time.Second)
		if got := r.events(); got != first {
			t.Errorf("nothing has changed, and this was sent: %s", got[len(first):])
		}
		time.Sleep(10 * time.Second)
		if got := r.events()[len(first):]; got != ":\n\n" {
			t.Errorf("the keep-alive event is %q", got)
		}
		first = r.events()
		if err := s.Pause(t.Context(), job.DefaultQueue, true); err != nil { // this page does not show it
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := r.events(); got != first {
			t.Errorf("nothing on this page has changed, and this was sent: %s", got[len(first):])
		}
		enqueue(t, s, "page", `{}`, 1)
		time.Sleep(2 * time.Second)
		// The list and the counts are read separately, so that they may arrive one after the other.
		if got := r.events()[len(first):]; strings.Count(got, `"rows":`) != 1 || strings.Count(got, `"tabs":`) != 1 {
			t.Errorf("the update for a new job is %q", got)
		}
	})
}

// TestSlowReader: a slow reader delays nobody, and skips old updates when it is ready.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		h := dash.New(dash.Config{Store: s})
		slow, quick := open(t, h, "/jobs", 7*time.Second), open(t, h, "/jobs", 0)
		time.Sleep(300 * time.Millisecond) // the rest happens between two renderings
		for range 60 {
			time.Sleep(time.Second)
			enqueue(t, s, "mail", `{}`, 1)
		}
		time.Sleep(20 * time.Second)
		if got := strings.Count(quick.events(), "event: parts"); got < 45 || got > 62 {
			t.Errorf("the quick reader got %d updates, want about 60", got)
		}
		if got := strings.Count(slow.events(), "event: parts"); got < 8 || got > 12 {
			t.Errorf("the slow reader got %d updates, want about 10", got)
		}
		if !maps.Equal(slow.page(t), quick.page(t)) {
			t.Error("in the end the readers have different pages")
		}
	})
}

// TestSlowReaderMissesNothing: changes in updates that it skipped arrive with a later one.
func TestSlowReaderMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		enqueue(t, s, "mail", `{}`, 1)
		h := dash.New(dash.Config{Store: s})
		slow, quick := open(t, h, "/queue?name=default", 7*time.Second), open(t, h, "/queue?name=default", 0)
		time.Sleep(2300 * time.Millisecond)
		renew(t, s, "w", func(r *job.Renewal) { r.Info.Queues = []string{"default"} })
		time.Sleep(2 * time.Second)
		enqueue(t, s, "mail", `{}`, 1)
		time.Sleep(20 * time.Second)
		for _, part := range []string{"workers", "parts"} {
			if got, want := slow.page(t)[part], quick.page(t)[part]; got != want {
				t.Errorf("in the end the slow reader sees as %s %q, want %q", part, got, want)
			}
		}
		slow.leave()
		<-slow.ended
	})
}

func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: memory.New()})
		gone := open(t, h, "/jobs", 0)
		synctest.Wait()
		gone.mu.Lock()
		gone.fails = true
		gone.mu.Unlock()
		time.Sleep(20 * time.Second)
		select {
		case <-gone.ended:
		default:
			t.Error("a closed connection is written to")
		}
		long := open(t, h, "/jobs", 0)
		time.Sleep(11 * time.Minute)
		select {
		case <-long.ended:
		default:
			t.Error("a stream is open for more than ten minutes, so access is not checked again")
		}
	})
}

// TestServerTimeouts: the timeouts that a server sets for requests and responses do not end a live page.
func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	s := memory.New()
	server := httptest.NewUnstartedServer(dash.New(dash.Config{Store: s}))
	server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second/2, time.Second/2
	server.Start()
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	seen := 0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: parts") {
			if seen++; seen == 2 { // a second after the previous one
				return
			}
			enqueue(t, s, "mail", `{}`, 1)
		}
	}
	t.Errorf("the stream ended after %d updates", seen)
}

func TestTooManyReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: memory.New()})
		for range 5000 {
			open(t, h, "/queues", 0)
		}
		synctest.Wait()
		one := open(t, h, "/queues", 0)
		<-one.ended
		if one.status != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", one.status)
		}
		if got := one.header.Get("Connection"); got != "close" {
			t.Errorf("a connection without a stream is kept: %q", got)
		}
	})
}

// TestTooManyPages: the limit of different pages is lower; pages that are already open accept more readers.
func TestTooManyPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: memory.New()})
		for i := range 1000 {
			open(t, h, fmt.Sprintf("/workers?n=%d", i), 0)
		}
		synctest.Wait()
		one := open(t, h, "/workers", 0)
		synctest.Wait()
		if one.status != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", one.status)
		}
		one = open(t, h, "/workers?n=7", 0)
		synctest.Wait()
		one.page(t)
	})
}

func TestTroubleIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memory.New()}
		h := dash.New(dash.Config{Store: s})
		r := open(t, h, "/jobs", 0)
		time.Sleep(2500 * time.Millisecond)
		s.fails.Store(true)
		time.Sleep(5 * time.Second)
		if got := r.events(); strings.Count(got, "event: trouble") != 1 || !strings.Contains(got, `the disk is <full>`) {
			t.Errorf("got %s", got)
		}
		n := len(r.events())
		s.fails.Store(false)
		time.Sleep(2 * time.Second)
		if got := r.events()[n:]; !strings.HasPrefix(got, "event: parts") {
			t.Errorf("when it is over, got %q", got)
		}
	})
}

// TestHeadOfLivePage: a HEAD request for a stream ends, and does not count as a reader.
func TestHeadOfLivePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := dash.New(dash.Config{Store: memory.New()})
		for _, path := range []string{"/", "/jobs", "/queues"} {
			begun, w := time.Now(), httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "HEAD", path, nil)
			r.Header.Set("Accept", "text/event-stream")
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() > 0 || time.Since(begun) > 0 {
				t.Errorf("%s: %d %v, %d bytes after %v", path, w.Code, w.Header(), w.Body.Len(), time.Since(begun))
			}
		}
	})
}

// TestWhatIsGoneIsTold: a live page of something that is deleted shows that, with the same text as the page itself, to viewers as well: it is not an
// error of the store.
func TestWhatIsGoneIsTold(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			j := enqueue(t, s, "mail.send", `{}`, 1, job.Queue("mail"))[0]
			h := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return readOnly }})
			ofJob, ofQueue := open(t, h, "/jobs/"+j.ID.String(), 0), open(t, h, "/queue?name=mail", 0)
			time.Sleep(2500 * time.Millisecond)
			if _, err := job.Apply(t.Context(), s, job.Filter{IDs: []job.ID{j.ID}}, job.ActionDelete); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			for r, want := range map[*reader]string{ofJob: "There is no such job. It may have been deleted.", ofQueue: "There is no queue"} {
				if got := r.events(); !strings.Contains(got, `event: trouble`+"\n"+`data: "`+want) || strings.Contains(got, "store returned an error") {
					t.Errorf("read-only %v: no %q in %s", readOnly, want, got[max(0, len(got)-300):])
				}
			}
		})
	}
}
