package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

type claimed struct {
	Session, Lease, State string
	Jobs                  []struct {
		ID                   job.ID
		Kind, Queue, Timeout string
		Args                 json.RawMessage
		Attempt              int
		MaxAttempts          int `json:"max_attempts"`
		Meta                 map[string]string
		LimitKey             string `json:"limit_key"`
		UniqueKey            string `json:"unique_key"`
		Cost                 int
	}
}

type extended struct {
	Lost, Canceled []job.ID
	State          string
}

type finished struct{ Lost []job.ID }

// A farm is an API, with methods for the requests of worker programs.
type farm struct {
	*testing.T
	store *memory.Store
	api   *api.API
}

func newFarm(t *testing.T) *farm {
	store := memory.New()
	return &farm{t, store, api.New(api.Config{Store: store})}
}

func (f *farm) enqueue(more string) job.ID {
	f.Helper()
	return read[enqueued](f.T, ask(f.api, "POST", "/jobs", `{"kind":"k"`+more+`}`), 201).ID
}

func (f *farm) claim(more string) claimed {
	f.Helper()
	return read[claimed](f.T, ask(f.api, "POST", "/worker/claim", `{"worker":"w","queues":["default"]`+more+`}`), 200)
}

// claimOne claims the only job that is due, and returns the fields that identify its attempt.
func (f *farm) claimOne() string { return f.claimFirst(5) }

func (f *farm) claimFirst(limit int) string {
	f.Helper()
	got := f.claim(fmt.Sprintf(`,"limit":%d`, limit))
	if len(got.Jobs) != 1 {
		f.Fatalf("claimed %d jobs, want 1", len(got.Jobs))
	}
	return fmt.Sprintf(`"session":%q,"id":%q,"attempt":%d`, got.Session, got.Jobs[0].ID, got.Jobs[0].Attempt)
}

func (f *farm) finish(end string, want ...job.ID) {
	f.Helper()
	got := read[finished](f.T, ask(f.api, "POST", "/worker/finish", `{"ends":[{`+end+`}]}`), 200)
	if !slices.Equal(got.Lost, want) {
		f.Errorf("lost %v, want %v", got.Lost, want)
	}
}

func (f *farm) extend(more string) extended {
	f.Helper()
	return read[extended](f.T, ask(f.api, "POST", "/worker/extend", `{"worker":{"name":"w"}`+more+`}`), 200)
}

func (f *farm) find(id job.ID) *job.Job {
	f.Helper()
	j, err := job.Find(f.Context(), f.store, id)
	if err != nil {
		f.Fatal(err)
	}
	return j
}

// TestClaimWithoutAUniqueKey: the key of a request is not one that a following job should have.
func TestClaimWithoutAUniqueKey(t *testing.T) {
	f := newFarm(t)
	f.enqueue("")
	read[enqueued](t, ask(f.api, "POST", "/jobs", `{"kind":"k"}`, header("Idempotency-Key", "a")), 201)
	got := f.claim(`,"limit":10`).Jobs
	if len(got) != 2 || got[0].UniqueKey != "" || got[1].UniqueKey != "" {
		t.Errorf("got %+v", got)
	}
}

func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		id := f.enqueue(`,"args":{"password":"p","n":1},"timeout":90,"meta":{"tenant":"7"},"limit_key":"a","unique_key":"u 1","max_attempts":3`)
		f.enqueue(`,"queue":"other"`)
		got := f.claim(`,"limit":10,"lease":"1m30s"`)
		if len(got.Jobs) != 1 || got.Session == "" || got.Lease != "90s" || got.State != "run" {
			t.Fatalf("got %+v", got)
		}
		j := got.Jobs[0]
		if j.ID != id || j.Kind != "k" || j.Queue != "default" || string(j.Args) != `{"password":"p","n":1}` || j.Timeout != "90s" || j.Attempt != 1 ||
			j.MaxAttempts != 3 || j.Meta["tenant"] != "7" || j.LimitKey != "a" || j.UniqueKey != "u 1" {
			t.Errorf("got %+v", j)
		}
		if got := f.find(id); got.Worker != "w" || got.State != job.Running {
			t.Errorf("got job %+v", got)
		}
		// The jobs of a lost answer are claimed again when the lease is over, and not before.
		if again := f.claim(`,"wait":"60s"`); len(again.Jobs) > 0 {
			t.Error("a job was claimed twice")
		}
		if again := f.claim(`,"wait":"60s"`); len(again.Jobs) != 1 || again.Jobs[0].Attempt != 2 {
			t.Errorf("after the lease got %+v", again)
		}
		if other := f.claim(`,"kinds":["x"]`); len(other.Jobs) > 0 {
			t.Errorf("claimed %+v", other)
		}
		begun := time.Now()
		time.AfterFunc(3*time.Second, func() { f.enqueue("") })
		if got := f.claim(`,"wait":20,"kinds":["k"]`); len(got.Jobs) != 1 || time.Since(begun) > 4*time.Second {
			t.Errorf("after %v got %+v", time.Since(begun), got)
		}
	})
}

func TestFinish(t *testing.T) {
	for name, test := range map[string]struct {
		end   string
		state job.State
		check func(*job.Job) bool
	}{
		"completed": {`"outcome":"completed","result":{"n":1},"records":[{"level":"warn","message":"m","attrs":{"b":"x y","a":{"n":1},"c":12345678901234567890}}]`, job.Completed, func(j *job.Job) bool {
			return string(j.Result) == `{"n":1}` && len(j.Records) == 1 && j.Records[0].Level == "WARN" && j.Records[0].Message == "m" &&
				j.Records[0].Attrs == `a="{\"n\":1}" b="x y" c=12345678901234567890` && j.Records[0].Attempt == 1
		}},
		"failed": {`"outcome":"failed","error":{"message":"boom","type":"Timeout::Error","backtrace":["a.rb:1","b.rb:2"]}`, job.Queued, func(j *job.Job) bool {
			wait := time.Until(j.RunAt)
			return j.LastError() == "Timeout::Error: boom" && j.Failures[0].Stack == "a.rb:1\nb.rb:2" && j.Used() == 1 && wait > 0 && wait < 10*time.Second
		}},
		"failed with delay": {`"outcome":"failed","error":{"message":"boom"},"delay":"1h"`, job.Queued, func(j *job.Job) bool {
			return j.LastError() == "boom" && time.Until(j.RunAt) == time.Hour
		}},
		"discarded": {`"outcome":"discarded","error":{"type":"E"}`, job.Discarded, func(j *job.Job) bool { return j.LastError() == "E" }},
		"canceled":  {`"outcome":"canceled"`, job.Canceled, func(j *job.Job) bool { return j.LastError() == "canceled by its handler" }},
		"canceled with an error": {`"outcome":"canceled","error":{"message":"no"}`, job.Canceled, func(j *job.Job) bool {
			return j.LastError() == "no"
		}},
		"snoozed": {`"outcome":"snoozed","delay":60`, job.Queued, func(j *job.Job) bool { return j.Used() == 0 && time.Until(j.RunAt) == time.Minute }},
		"nulls": {`"outcome":"failed","error":{"message":"boom","type":"","backtrace":null},"delay":null,"result":null,"then":null,"records":null`, job.Queued, func(j *job.Job) bool {
			return j.LastError() == "boom" && j.Result == nil
		}},
		"released": {`"outcome":"released"`, job.Queued, func(j *job.Job) bool { return j.Used() == 0 && j.Released == 1 && !j.RunAt.After(time.Now()) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFarm(t)
				id := f.enqueue("")
				end := f.claimOne() + "," + test.end
				f.finish(end)
				j := f.find(id)
				if j.State != test.state || !test.check(j) {
					t.Errorf("got job %+v", j)
				}
				f.finish(end, id) // the second time, it does not count
				if again := f.find(id); again.State != j.State || again.Used() != j.Used() || len(again.Failures) != len(j.Failures) || len(again.Records) != len(j.Records) {
					t.Errorf("finished twice, the job is %+v, before it was %+v", again, j)
				}
			})
		})
	}
}

// TestFinishSpent: the units that a worker has spent replace the cost of the job.
func TestFinishSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		if got := ask(f.api, "PUT", "/queues/default/limits", `{"units":{"n":60,"per":"1m"}}`); got.Code != 204 {
			t.Fatalf("set limits: %d %s", got.Code, got.Body)
		}
		f.enqueue(`,"cost":30`)
		f.enqueue(`,"cost":7`)
		f.finish(f.claimFirst(5) + `,"outcome":"completed","spent":90`)
		if got := f.claim(""); len(got.Jobs) > 0 {
			t.Errorf("claimed %+v", got)
		}
		time.Sleep(80 * time.Second)
		if got := f.claim(""); len(got.Jobs) > 0 {
			t.Errorf("after 80 s claimed %+v", got)
		}
		time.Sleep(10 * time.Second)
		if got := f.claim(""); len(got.Jobs) != 1 || got.Jobs[0].Cost != 7 {
			t.Errorf("after 90 s claimed %+v", got)
		}
	})
}

// TestFinishThrottled: a throttled job holds back the others of its limit key.
func TestFinishThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		id := f.enqueue(`,"limit_key":"a"`)
		f.enqueue(`,"limit_key":"a"`)
		f.finish(f.claimFirst(1) + `,"outcome":"throttled","delay":60,"error":{"message":"429"}`)
		if j := f.find(id); j.State != job.Queued || j.Used() != 0 {
			t.Errorf("got job %+v", j)
		}
		if got := f.claim(""); len(got.Jobs) > 0 {
			t.Errorf("claimed %+v", got)
		}
		time.Sleep(time.Minute)
		if got := f.claim(`,"limit":2`); len(got.Jobs) != 2 {
			t.Errorf("after a minute claimed %+v", got)
		}
	})
}

// TestFinishTooLate: a job that another worker has claimed by now is lost for the previous one.
func TestFinishTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		id := f.enqueue("")
		first := f.claimOne()
		time.Sleep(31 * time.Second)
		second := f.claimOne()
		f.finish(first+`,"outcome":"completed","result":1`, id)
		if j := f.find(id); j.State != job.Running || j.Attempt != 2 {
			t.Errorf("got job %+v", j)
		}
		f.finish(second + `,"outcome":"completed","result":2,"then":[{"kind":"next","delay":"1h"}]`)
		if j := f.find(id); j.State != job.Completed || string(j.Result) != "2" {
			t.Errorf("got job %+v", j)
		}
		if got := read[page](t, ask(f.api, "GET", "/jobs?kind=next", ""), 200); len(got.Jobs) != 1 || got.Jobs[0].View != job.Scheduled {
			t.Errorf("got follow-up jobs %+v", got)
		}
	})
}

func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		one, two := f.enqueue(""), f.enqueue("")
		first, second := f.claim(""), f.claim("")
		sessions := fmt.Sprintf(`,"sessions":[{"session":%q,"jobs":[%q]},{"session":%q,"jobs":[%q,%q]}]`, first.Session, one, second.Session, two, job.NewID())
		time.Sleep(25 * time.Second)
		got := f.extend(sessions + fmt.Sprintf(`,"lease":60,"progress":[{"session":%q,"id":%q,"attempt":1,"done":3,"total":10}],
			"records":[{"session":%q,"id":%q,"attempt":1,"level":"info","message":"a"},{"session":%q,"id":%q,"attempt":1,"message":"b","time":"2030-01-01T00:00:00Z"},
			{"session":%q,"id":%q,"attempt":7,"message":"of another attempt"}]`, first.Session, one, first.Session, one, first.Session, one, second.Session, two))
		if len(got.Lost) != 1 || len(got.Canceled) != 0 || got.State != "run" {
			t.Errorf("got %+v", got)
		}
		j := f.find(one)
		if j.State != job.Running || j.Progress == nil || j.Progress.Done != 3 || len(j.Records) != 2 || j.Records[1].Message != "b" || j.Records[1].Level != "INFO" || j.Records[1].Time.Year() != 2030 {
			t.Errorf("got job %+v", j)
		}
		if j := f.find(two); len(j.Records) != 0 {
			t.Errorf("got records %+v of an attempt that does not run", j.Records)
		}
		time.Sleep(55 * time.Second)
		if got := f.claim(`,"limit":2`); len(got.Jobs) != 0 {
			t.Errorf("claimed leased jobs: %+v", got)
		}
		ask(f.api, "POST", "/jobs/"+one.String()+"/cancel", "")
		if got := f.extend(sessions); !slices.Equal(got.Canceled, []job.ID{one}) {
			t.Errorf("got %+v", got)
		}
		f.finish(fmt.Sprintf(`"session":%q,"id":%q,"attempt":1,"outcome":"canceled"`, first.Session, one))
		if got := f.extend(sessions); !slices.Contains(got.Lost, one) || slices.Contains(got.Lost, two) {
			t.Errorf("got %+v", got)
		}
	})
}

// TestQuietAndStop: a command of an operator is reported until another one replaces it, and applies to claims as well.
func TestQuietAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		order := func(do job.CommandKind) {
			t.Helper()
			if err := f.store.SendCommand(t.Context(), "w", job.Command{Do: do}); err != nil {
				t.Fatal(err)
			}
		}
		f.claim(`,"kinds":["k"]`)
		who := func(pid int) extended {
			t.Helper()
			return read[extended](t, ask(f.api, "POST", "/worker/extend", fmt.Sprintf(
				`{"worker":{"name":"w","host":"h","pid":%d,"language":"ruby 3.1","labels":["web"],"concurrency":20}}`, pid)), 200)
		}
		if got := who(1); got.State != "run" {
			t.Errorf("got %+v", got)
		}
		workers, err := f.store.Workers(t.Context())
		if err != nil || len(workers) != 1 {
			t.Fatal(workers, err)
		}
		if w := workers[0]; w.Host != "h" || w.PID != 1 || w.Version != "ruby 3.1" || !slices.Equal(w.Labels, []string{"web"}) || w.Concurrency != 20 ||
			!slices.Equal(w.Queues, []string{"default"}) || !slices.Equal(w.Kinds, []string{"k"}) {
			t.Errorf("got worker %+v", w)
		}
		f.enqueue("")
		for _, step := range []struct {
			do   job.CommandKind
			want string
		}{{job.CommandQuiet, "quiet"}, {job.CommandResume, "run"}, {job.CommandStop, "stop"}} {
			order(step.do)
			for range 2 {
				if got := who(1); got.State != step.want {
					t.Errorf("%s: got %+v", step.do, got)
				}
			}
			if step.want == "run" {
				continue
			}
			begun := time.Now()
			if got := f.claim(`,"wait":5`); len(got.Jobs) != 0 || got.State != step.want || time.Since(begun) != 5*time.Second {
				t.Errorf("%s: after %v claimed %+v", step.do, time.Since(begun), got)
			}
			// Another server, which shares only the store, reports the same.
			other := &farm{t, f.store, api.New(api.Config{Store: f.store})}
			if got := other.extend(""); got.State != step.want {
				t.Errorf("%s: another server reports %+v", step.do, got)
			}
		}
		if got := who(2); got.State != "run" {
			t.Errorf("a new process gets %+v", got)
		}
		if w := ask(f.api, "POST", "/worker/leave", `{"worker":"w"}`); w.Code != 204 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		if workers, err := f.store.Workers(t.Context()); err != nil || len(workers) > 0 {
			t.Errorf("got workers %+v, %v, want none", workers, err)
		}
	})
}

// TestQuietForOneThatOnlyClaims: a worker that only claims receives a command with its next claims.
func TestQuietForOneThatOnlyClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		f.claim("")
		if err := f.store.SendCommand(t.Context(), "w", job.Command{Do: job.CommandQuiet}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		f.enqueue("")
		if got := f.claim(""); len(got.Jobs) > 0 || got.State != "quiet" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestWorkRefusals(t *testing.T) {
	f := newFarm(t)
	f.enqueue("")
	one := f.claimOne()
	id := f.enqueue("")
	many := func(n int, what string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(what+",", n), ",") + "]"
	}
	for _, test := range []struct {
		path, body string
		status     int
		detail     string
	}{
		{"claim", `{"queues":["q"]}`, 422, "worker: give the program a name"},
		{"claim", `{"worker":"w\n","queues":["q"]}`, 422, "has a control character"},
		{"claim", `{"worker":"` + strings.Repeat("w", 256) + `","queues":["q"]}`, 422, "the name has 256 bytes, at most 255"},
		{"claim", `{"worker":"w"}`, 422, "queues: name one at least"},
		{"claim", `{"worker":"w","queues":["a b"]}`, 422, "queues: the name of the queue has a space"},
		{"claim", `{"worker":"w","queues":` + many(101, `"q"`) + `}`, 422, "101 queues: name at most 100"},
		{"claim", `{"worker":"w","queues":["q"],"kinds":[]}`, 422, "kinds: there are none"},
		{"claim", `{"worker":"w","queues":["q"],"kinds":["a b"]}`, 422, "kinds: "},
		{"claim", `{"worker":"w","queues":["q"],"limit":0}`, 422, "limit 0: give from 1 to 500"},
		{"claim", `{"worker":"w","queues":["q"],"limit":501}`, 422, "limit 501: give from 1 to 500"},
		{"claim", `{"worker":"w","queues":["q"],"lease":4}`, 422, "a lease of 4s: give from 5s to 24h0m0s"},
		{"claim", `{"worker":"w","queues":["q"],"lease":"25h"}`, 422, "a lease of 25h0m0s: give from 5s to 24h0m0s"},
		{"claim", `{"worker":"w","queues":["q"],"wait":61}`, 422, "wait: 1m1s is too long"},
		{"claim", `{"worker":"w","queues":["q"],"x":1}`, 400, `unknown field "x"`},
		{"extend", `{}`, 422, "worker: give the program a name"},
		{"extend", `{"worker":{"name":"w","labels":` + many(21, `"l"`) + `}}`, 422, "21 labels: give at most 20"},
		{"extend", `{"worker":{"name":"w","host":"` + strings.Repeat("h", 256) + `"}}`, 422, "has 256 bytes"},
		{"extend", `{"worker":{"name":"w","pid":-1}}`, 422, "pid -1"},
		{"extend", `{"worker":{"name":"w"},"sessions":[{"session":"x"}]}`, 422, `"x" is not a session`},
		{"extend", `{"worker":{"name":"w"},"sessions":` + many(1001, `{"session":"1"}`) + `}`, 422, "1001 sessions: give at most 1000"},
		{"extend", `{"worker":{"name":"w"},"records":` + many(1001, `{}`) + `}`, 422, "1001 records: give at most 1000"},
		{"extend", `{"worker":{"name":"w"},"records":[{"session":"1","level":"loud"}]}`, 422, `"loud" is not a level`},
		{"extend", `{"worker":{"name":"w"},"sessions":[{"session":"1","jobs":["x"]}]}`, 400, `"x" is not a job ID`},
		{"finish", `{"ends":[{` + one + `}]}`, 422, `"" is not an outcome: give completed`},
		{"finish", `{"ends":[{` + one + `,"outcome":"failed"}]}`, 422, "error: say what has failed"},
		{"finish", `{"ends":[{` + one + `,"outcome":"failed","error":{}}]}`, 422, "error: give a message"},
		{"finish", `{"ends":[{` + one + `,"outcome":"failed","error":{"message":"m"},"result":1}]}`, 422, "result is for completed only"},
		{"finish", `{"ends":[{` + one + `,"outcome":"snoozed"}]}`, 422, "delay: say when"},
		{"finish", `{"ends":[{` + one + `,"outcome":"completed","delay":1}]}`, 422, "delay is for failed, snoozed and throttled only"},
		{"finish", `{"ends":[{` + one + `,"outcome":"completed","spent":-1}]}`, 422, "spent: -1 units: give from 0 to 1000000000"},
		{"finish", `{"ends":[{` + one + `,"outcome":"released","error":{"message":"m"}}]}`, 422, "error is for failed, discarded, canceled and throttled only"},
		{"finish", `{"ends":[{` + one + `,"outcome":"released","then":[{"kind":"k"}]}]}`, 422, "then is for completed only"},
		{"finish", `{"ends":[{` + one + `,"outcome":"completed","then":[{"kind":""}]}]}`, 422, "the name of the kind is empty"},
		{"finish", `{"ends":[{` + one + `,"outcome":"completed","then":` + many(1001, `{"kind":"k"}`) + `}]}`, 422, "more than 1000 jobs are to follow"},
		{"finish", `{"ends":[{` + one + `,"outcome":"completed"},{` + one + `,"outcome":"completed"}]}`, 422, "it is in this request twice"},
		{"finish", `{"ends":` + many(501, `{"outcome":"completed"}`) + `}`, 422, "501 ends: give at most 500"},
		{"finish", `{"ends":[{"session":"x","id":"` + id.String() + `","outcome":"completed"}]}`, 422, "end 1, job " + id.String() + `: "x" is not a session`},
		{"leave", `{}`, 422, "worker: give the program a name"},
	} {
		w := ask(f.api, "POST", "/worker/"+test.path, test.body)
		if w.Code != test.status || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\"`, `"`), test.detail) {
			t.Errorf("%s %.100s: got %d %s, want %d %s", test.path, test.body, w.Code, w.Body, test.status, test.detail)
		}
	}
	f.finish(one + `,"outcome":"completed"`) // none of the refused requests has counted
}

// TestForWorkers: the requests that a token of the role worker may send.
func TestForWorkers(t *testing.T) {
	for what, want := range map[string]bool{
		"POST /api/v1/worker/claim": true, "POST /api/v1/jobs": true, "POST /api/v1/jobs/bulk": true, "GET /api/v1/jobs/" + job.NewID().String(): true,
		"GET /api/v1/jobs": false, "GET /api/v1/jobs/": false, "DELETE /api/v1/jobs/" + job.NewID().String(): false,
		"POST /api/v1/jobs/" + job.NewID().String() + "/cancel": false, "POST /api/v1/actions": false, "GET /api/v1/workers": false, "GET /": false,
		"GET /metrics": false, "POST /api/v1/worker": true, "GET /api/v1/jobs/../actions": false, "POST /jobs": false,
	} {
		method, path, _ := strings.Cut(what, " ")
		r := httptest.NewRequest(method, "http://h/", nil)
		r.URL.Path = path
		if got := api.ForWorkers(r); got != want {
			t.Errorf("%s: got %t", what, got)
		}
	}
}

// watched counts claims that are waiting at a store.
type watched struct {
	job.Store
	waiting atomic.Int64
	claimed chan struct{} // unless nil: each claim that has claimed jobs waits until it can send
}

func (s *watched) Wait(ctx context.Context, queues ...string) ([]string, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	return s.Store.Wait(ctx, queues...)
}

func (s *watched) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	if s.claimed != nil && len(got.Jobs) > 0 {
		s.claimed <- struct{}{}
		s.claimed <- struct{}{}
		if ctx.Err() != nil { // as for a call whose answer nobody waits for
			return job.Claimed{}, ctx.Err()
		}
	}
	return got, err
}

// eventually waits until a condition is met.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": not within 20 s")
		}
	}
}

const longClaim = `{"worker":"w","queues":["default"],"wait":"60s"}`

// dial sends a claim that waits over a connection of its own.
func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST %s/worker/claim HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", api.Prefix, len(longClaim), longClaim)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestAClientThatGoesEndsItsClaim(t *testing.T) {
	store := &watched{Store: memory.New()}
	server := httptest.NewServer(api.New(api.Config{Store: store}))
	defer server.Close()
	conn := dial(t, server)
	eventually(t, "the claim waits", func() bool { return store.waiting.Load() == 1 })
	_ = conn.Close()
	eventually(t, "the claim ends", func() bool { return store.waiting.Load() == 0 })
}

func TestWhatIsClaimedForAClientThatHasGoneIsReleased(t *testing.T) {
	store := &watched{Store: memory.New(), claimed: make(chan struct{})}
	gone := make(chan struct{})
	h := api.New(api.Config{Store: store})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		context.AfterFunc(r.Context(), func() {
			cancel() // so that the API knows it, too, before the claim continues
			close(gone)
		})
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	defer server.Close()
	id := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k"}`), 201).ID
	conn := dial(t, server)
	<-store.claimed
	_ = conn.Close()
	<-gone
	<-store.claimed
	eventually(t, "the job is released", func() bool {
		j, err := job.Find(t.Context(), store, id)
		return err == nil && j.State == job.Queued && j.Used() == 0 && j.Attempt == 1
	})
}

// broke is a ResponseWriter whose writes fail.
type broke struct{ http.ResponseWriter }

func (broke) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWhatCannotBeAnsweredIsReleased(t *testing.T) {
	f := newFarm(t)
	id := f.enqueue("")
	r := httptest.NewRequest("POST", "http://h"+api.Prefix+"/worker/claim", strings.NewReader(longClaim))
	r.Header.Set("Content-Type", "application/json")
	f.api.ServeHTTP(broke{httptest.NewRecorder()}, r)
	if j := f.find(id); j.State != job.Queued || j.Used() != 0 || j.Attempt != 1 {
		t.Errorf("got job %+v", j)
	}
}

func TestShutdownAnswersClaims(t *testing.T) {
	store := &watched{Store: memory.New()}
	h := api.New(api.Config{Store: store})
	server := httptest.NewServer(h)
	defer server.Close()
	conn := dial(t, server)
	defer conn.Close()
	eventually(t, "the claim waits", func() bool { return store.waiting.Load() == 1 })
	begun := time.Now()
	if err := server.Config.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 || !bytes.Contains(body, []byte(`"jobs":[]`)) || time.Since(begun) > 30*time.Second {
		t.Errorf("after %v got %d %s, %v", time.Since(begun), answer.StatusCode, body, err)
	}
}

func TestClaimsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t)
		const most = 500
		answers := make(chan int, most)
		for i := range most {
			go func() {
				answers <- ask(f.api, "POST", "/worker/claim", fmt.Sprintf(`{"worker":"w%d","queues":["default"],"wait":30}`, i)).Code
			}()
		}
		synctest.Wait()
		w := ask(f.api, "POST", "/worker/claim", longClaim)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "500 claims wait for jobs") {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		f.claim("") // a claim that does not wait needs no place
		for range most {
			if code := <-answers; code != 200 {
				t.Errorf("got %d", code)
			}
		}
	})
}
