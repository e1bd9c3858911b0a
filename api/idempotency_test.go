package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestIdempotencyKey: a request that is sent again with its key gets the answer of the first, and enqueues nothing.
func TestIdempotencyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		key := header("Idempotency-Key", `"a b"`)
		first := read[enqueued](t, ask(f.api, "POST", "/jobs", `{"kind":"k","args":1}`, key), 201)
		var all sync.WaitGroup
		for _, key := range []string{`"a b"`, "a b"} {
			all.Go(func() {
				again := ask(f.api, "POST", "/jobs", `{"kind":"k","args":1}`, header("Idempotency-Key", key))
				if got := read[enqueued](t, again, 201); got != first {
					t.Errorf("got %+v, want %+v", got, first)
				}
			})
		}
		all.Wait()
		if w := ask(f.api, "POST", "/jobs", `{"kind":"k","args":2}`, key); w.Code != 422 || !strings.Contains(w.Body.String(), "it came with another body before, for job "+first.ID.String()) {
			t.Errorf("another body: got %d %s", w.Code, w.Body)
		}
		f.finish(f.claimOne() + `,"outcome":"completed"`)
		if got := read[enqueued](t, ask(f.api, "POST", "/jobs", `{"kind":"k","args":1}`, key), 201); got != first {
			t.Errorf("after the job has finished: got %+v, want %+v", got, first)
		}
		if w := ask(f.api, "DELETE", "/jobs/"+first.ID.String(), ""); w.Code != 204 {
			t.Fatal(w.Body)
		}
		time.Sleep(24 * time.Hour)
		if got := read[enqueued](t, ask(f.api, "POST", "/jobs", `{"kind":"k","args":1}`, key), 201); got.ID == first.ID {
			t.Error("a key that is older than a day still counts")
		}
		for _, test := range []struct {
			key, path, body string
			status          int
			detail          string
		}{
			{"k", "/jobs", `{"kind":"k","unique_key":"u"}`, 422, "Idempotency-Key: the body gives the job a unique key already"},
			{"k", "/jobs", `{"kind":"k","unique_args":true}`, 422, "Idempotency-Key: the body gives the job a unique key already"},
			{"", "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: it is empty"},
			{`""`, "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: it is empty"},
			{`"`, "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: \\\" has a quote at one end only"},
			{`"k`, "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: \\\"k has a quote at one end only"},
			{`k"`, "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: k\\\" has a quote at one end only"},
			{strings.Repeat("k", 256), "/jobs", `{"kind":"k"}`, 400, "Idempotency-Key: it has 256 bytes"},
			{"k", "/jobs/bulk", `{"kind":"k"}`, 422, "Idempotency-Key is for one job"},
		} {
			w := ask(f.api, "POST", test.path, test.body, header("Idempotency-Key", test.key))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.detail) {
				t.Errorf("%+v: got %d %s", test, w.Code, w.Body)
			}
		}
	})
}

// TestIdempotencyKeyOfAUniqueKind: a kind that is unique by its definition keeps its own key. A client that does not know this may send an
// Idempotency-Key.
func TestIdempotencyKeyOfAUniqueKind(t *testing.T) {
	store := memory.New()
	unique := job.Define[int]("k", job.UniqueArgs())
	h := api.New(api.Config{Store: store, New: func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
		var n int
		if err := json.Unmarshal(args, &n); err != nil {
			return nil, err
		}
		return unique.New(n, opts...)
	}})
	first := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","args":1}`, header("Idempotency-Key", "a")), 201)
	for _, key := range []string{"a", "b"} {
		again := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","args":1}`, header("Idempotency-Key", key)), 200)
		if again.ID != first.ID || !again.Duplicate {
			t.Errorf("key %s: got %+v, want a duplicate of %v", key, again, first.ID)
		}
	}
	if other := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","args":2}`, header("Idempotency-Key", "a")), 201); other.ID == first.ID {
		t.Error("a job with other args counts as the same job")
	}
}

func TestBulkIDs(t *testing.T) {
	f := newFarm(t)
	held := f.enqueue(`,"unique_key":"u"`)
	var lines strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lines, "{\"kind\":\"k\",\"args\":%d}\n", i)
	}
	lines.WriteString(`{"kind":"k","unique_key":"u"}`)
	got := read[struct {
		Enqueued, Duplicates int
		IDs                  []job.ID
	}](t, ask(f.api, "POST", "/jobs/bulk?ids=true", lines.String(), ndjson), 200)
	if got.Enqueued != 2500 || got.Duplicates != 1 || len(got.IDs) != 2501 || got.IDs[2500] != held {
		t.Fatalf("enqueued %d, %d duplicates, %d IDs", got.Enqueued, got.Duplicates, len(got.IDs))
	}
	for _, i := range []int{0, 999, 1000, 2499} {
		if j := f.find(got.IDs[i]); string(j.Args) != fmt.Sprint(i) {
			t.Errorf("the ID of line %d is that of %s", i, j.Args)
		}
	}
	if w := ask(f.api, "POST", "/jobs/bulk", `{"kind":"k"}`, ndjson); strings.Contains(w.Body.String(), "ids") {
		t.Errorf("without ids got %s", w.Body)
	}
	if w := ask(f.api, "POST", "/jobs/bulk?ids=x", `{"kind":"k"}`, ndjson); w.Code != 422 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestShowWaits: a request that waits for a job is answered when the job has finished, or with its current state when the time is over or the
// server stops.
func TestShowWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		type shown struct{ State job.State }
		id := f.enqueue("")
		path := "/jobs/" + id.String() + "?wait=30s"
		begun := time.Now()
		if got := read[shown](t, ask(f.api, "GET", path, ""), 200); got.State != job.Queued || time.Since(begun) != 30*time.Second {
			t.Errorf("after %v the job is %s", time.Since(begun), got.State)
		}
		end := f.claimOne() + `,"outcome":"completed"`
		time.AfterFunc(7*time.Second, func() { f.finish(end) })
		begun = time.Now()
		if got := read[shown](t, ask(f.api, "GET", path, ""), 200); got.State != job.Completed || time.Since(begun) != 7*time.Second {
			t.Errorf("after %v the job is %s", time.Since(begun), got.State)
		}
		if w := ask(f.api, "GET", "/jobs/"+job.NewID().String()+"?wait=30s", ""); w.Code != 404 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		other := f.enqueue("")
		time.AfterFunc(time.Second, f.api.Stop)
		begun = time.Now()
		if got := read[shown](t, ask(f.api, "GET", "/jobs/"+other.String()+"?wait=1m", ""), 200); got.State != job.Queued || time.Since(begun) != time.Second {
			t.Errorf("after %v the job is %s", time.Since(begun), got.State)
		}
	})
}
