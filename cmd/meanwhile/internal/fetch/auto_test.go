package fetch

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A busyServer answers up to 50 concurrent requests and refuses others. It counts a request until its response is sent, so that the
// next request may come before that.
type busyServer struct{ running atomic.Int64 }

func (s *busyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	running := s.running.Add(1)
	defer s.running.Add(-1)
	if running > 50 {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	select {
	case <-time.After(25 * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	_, _ = io.WriteString(w, "fine")
	_ = http.NewResponseController(w).Flush()
}

// TestAutoKeepsToWhatAServerTakes: of 20,000 URLs without retries less than one in fifty fails, and the server is kept busy.
func TestAutoKeepsToWhatAServerTakes(t *testing.T) {
	testenv.LongTest(t)
	urls := 20_000
	if raceEnabled {
		urls = 2000
	}
	server := httptest.NewServer(new(busyServer))
	defer server.Close()
	var notes bytes.Buffer
	r := newRun(t, strings.NewReader(strings.Repeat(server.URL+"\n", urls)), io.Discard, &notes, nil, "-n", "auto")
	r.fetcher.client.Transport = newClient(&Command{MaxTime: seconds(time.Minute), ConnectTimeout: seconds(time.Minute)}, 512).Transport
	_ = r.do(undisturbed)
	f := r.stats.figures()
	t.Logf("limit at the end %d\n%s", r.limiter.Current(), &notes)
	if f.done+f.failed != urls || f.failed*50 > urls {
		t.Errorf("%d done, %d failed; want less than 2 %% of %d", f.done, f.failed, urls)
	}
}
