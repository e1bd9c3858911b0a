package remote

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestBadRequests(t *testing.T) {
	h := Handler(newShelf(), nil)
	tests := map[string]string{
		"/logs/find?filter=" + url.QueryEscape("a ("): "column 4",
		"/logs/find?since=yesterday":                  "since: ",
		"/logs/find?limit=-1":                         "limit: ",
		"/logs/find?newest=maybe":                     "newest: ",
		"/logs/follow?after=7":                        "after: ",
		"/logs/follow?resume=x":                       "resume: ",
		"/logs/count?by=time":                         "each time is another one",
		"/logs/count?by=service&every=-5s":            "of a positive time",
		"/logs/count?by=service&every=soon":           "every: ",
		"/logs/histogram?n=0":                         "1 to 2000",
		"/logs/histogram?n=99999":                     "1 to 2000",
		"/logs/histogram?since=2026-05-04T00:00:00Z&until=2026-05-03T00:00:00Z": "before",
	}
	for path, want := range tests {
		if w := get(t, h, path); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/logs/find", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d", w.Code)
	}
}

// A waiting finder finds one record, waits, and then fails or panics.
type waiting struct {
	*shelf
	wait time.Duration
	err  error
}

func (w *waiting) Find(ctx context.Context, _ storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if !yield(someRecords(1)[0], nil) {
			return
		}
		if err := meanwhile.Sleep(ctx, w.wait); err != nil || w.err != nil {
			yield(logs.Record{}, errors.Join(err, w.err))
			return
		}
		panic("broken at /etc/secret.go")
	}
}

func TestStreamTellsHowItEnds(t *testing.T) {
	record := string(someRecords(1)[0].AppendJSON(nil)) + "\n"
	synctest.Test(t, func(t *testing.T) {
		h := Handler(&waiting{newShelf(), 35 * time.Second, errors.New("no more")}, nil)
		if got, want := get(t, h, "/logs/find").Body.String(), record+"\n\n\n"+`{"error":"no more"}`+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		h = Handler(&waiting{newShelf(), time.Millisecond, nil}, nil)
		if got, want := get(t, h, "/logs/find").Body.String(), record+`{"error":"the server failed: its log says how"}`+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestSearchesAreBounded: too many concurrent searches are refused, and further ones are accepted when these have ended.
func TestSearchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(&waiting{newShelf(), time.Minute, errors.New("no more")}, nil)
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			for range maxSearches {
				meanwhile.Go(ctx, func(context.Context) error {
					if w := get(t, h, "/logs/find"); w.Code != http.StatusOK {
						t.Errorf("got %d", w.Code)
					}
					return nil
				})
			}
			synctest.Wait()
			if w := get(t, h, "/logs/find"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Errorf("got %d for one search too many", w.Code)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if w := get(t, h, "/logs/find"); w.Code != http.StatusOK {
			t.Errorf("got %d when the other searches have ended", w.Code)
		}
	})
}
