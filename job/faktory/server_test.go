package faktory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestPushFetchAck(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		producer, worker := r.dial(""), r.worker("worker-1")
		producer.want(`PUSH {"jid":"job-000001","jobtype":"mail","args":[1,"two",{"three":3}],"custom":{"tenant":"7"},"at":"","priority":7,"unknown":[]}`, "+OK")
		got := worker.fetchOne("critical default")
		if got.JID != "job-000001" || got.Type != "mail" || string(got.Args) != `[1,"two",{"three":3}]` || got.Queue != "default" || got.Retry != 25 ||
			got.Reserve != 1800 || got.Custom["tenant"] != "7" || got.Priority != 7 || got.Failure != nil {
			t.Errorf("fetched %+v", got)
		}
		for _, at := range []string{got.Enqueued, got.Created} {
			if when, err := time.Parse(time.RFC3339Nano, at); err != nil || time.Since(when).Abs() > time.Minute {
				t.Errorf("got the time %q, want about now", at)
			}
		}
		if j := r.one(got.JID); j.State != job.Running || j.Worker != "faktory/worker-1" || j.MaxAttempts != 26 {
			t.Errorf("got job %+v", j)
		}
		worker.want(`ACK {"jid":"job-000001"}`, "+OK")
		if j := r.one(got.JID); j.State != job.Completed || len(j.Failures) != 0 {
			t.Errorf("after ACK the job is %+v", j)
		}
		worker.want(`ACK {"jid":"job-000001"}`, "+OK")
		worker.want(`ACK {"jid":"job-never-seen"}`, "+OK")
		for _, jid := range []string{`{"jid":"job-\u0030\u003002"}`, `{ "jid" : "job-0003", "x" : [1] }`} { // as few clients write it
			producer.want(fmt.Sprintf(`PUSH {"jid":"job-000%d","jobtype":"mail","args":[]}`, 2+strings.Count(jid, "x")), "+OK")
			got := worker.fetchOne("default")
			worker.want("ACK "+jid, "+OK")
			if j := r.one(got.JID); j.State != job.Completed {
				t.Errorf("after ACK %s the job is %s", jid, j.State)
			}
		}
		for _, wrong := range []string{`{"jid":""}`, `{"jid":"a"`, `{"jid":7}`, "", "[]"} {
			worker.want("ACK "+wrong, `-ERR invalid ACK`)
		}
		if j := worker.fetch("default"); j != nil {
			t.Errorf("fetched %+v again", j)
		}
	})
}

func TestFailRetriesAndDies(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		p := r.worker("worker-1")
		p.want(`PUSH {"jid":"job-retry","jobtype":"mail","args":[],"retry":1,"backtrace":5}`, "+OK")
		p.want(`PUSH {"jid":"job-dead","jobtype":"mail","args":[],"retry":-1,"queue":"b"}`, "+OK")
		p.want(`PUSH {"jid":"job-drop","jobtype":"mail","args":[],"retry":0,"queue":"c"}`, "+OK")
		if got := p.fetchOne("default"); got.JID != "job-retry" {
			t.Fatalf("fetched %+v", got)
		}
		p.want(`FAIL {"jid":"job-retry","errtype":"IOError","message":"broken pipe","backtrace":["a.rb:1","b.rb:2"]}`, "+OK")
		p.want(`FAIL {"jid":"job-retry","errtype":"IOError","message":"broken pipe"}`, "-ERR Job not found job-retry")
		j := r.one("job-retry")
		if wait := j.RunAt.Sub(j.Failures[0].Time); j.View(time.Now()) != job.Retrying || wait < 14*time.Second || wait > 46*time.Second {
			t.Errorf("after the first failure the job is %s and waits for %v, want from 15 to 44 s", j.State, wait)
		}
		if f := j.Failures[0]; f.Error != "IOError: broken pipe" || f.Stack != "a.rb:1\nb.rb:2" || f.Worker != "faktory/worker-1" {
			t.Errorf("the failure is %+v", f)
		}
		r.makeDue("job-retry")
		got := p.fetchOne("default")
		if f := got.Failure; f == nil || f.Count != 0 || f.Remaining != 1 || f.Message != "broken pipe" || f.Type != "IOError" || len(f.Backtrace) != 2 {
			t.Errorf("fetched again, the job has the failure %+v", f)
		}
		p.want(`FAIL {"jid":"job-retry","errtype":"IOError","message":"again","backtrace":null}`, "+OK")
		if j := r.one("job-retry"); j.State != job.Discarded || len(j.Failures) != 2 {
			t.Errorf("after its last retry the job is %+v", j)
		}
		for jid, want := range map[string]job.State{"job-dead": job.Discarded, "job-drop": job.Canceled} {
			if got := p.fetchOne("b c"); got.JID != jid {
				jid, want = got.JID, map[string]job.State{"job-dead": job.Discarded, "job-drop": job.Canceled}[got.JID]
			}
			p.want(`FAIL {"jid":"`+jid+`","message":"no"}`, "+OK")
			if j := r.one(jid); j.State != want {
				t.Errorf("%s is %s, want %s", jid, j.State, want)
			}
		}
	})
}

// TestGoAndForeignShareAStore: a client runs a job that a program in Go enqueued, and the other way round.
func TestGoAndForeignShareAStore(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		ctx := context.Background()
		kind := job.Define[map[string]int]("from.go")
		enqueued, err := kind.Enqueue(ctx, r.store, map[string]int{"n": 1}, job.Queue("foreign"))
		if err != nil {
			t.Fatal(err)
		}
		p := r.worker("worker-1")
		got := p.fetchOne("foreign")
		if got.JID != enqueued.ID.String() || string(got.Args) != `[{"n":1}]` || got.Retry != 19 {
			t.Errorf("fetched %+v", got)
		}
		p.want(`FAIL {"jid":"`+got.JID+`","message":"no"}`, "+OK")
		j, err := job.Find(ctx, r.store, enqueued.ID)
		if err != nil || j.View(time.Now()) != job.Retrying || time.Until(j.RunAt) > 5*time.Second {
			t.Errorf("got job %+v, %v", j, err)
		}
		worked, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		var args string
		w := job.NewWorker(r.store, job.Config{}, job.HandleRaw("to.go", func(_ context.Context, j *job.Job) error {
			args = string(j.Args)
			cancel()
			return nil
		}))
		p.want(`PUSH {"jid":"job-to-go","jobtype":"to.go","args":[1,2]}`, "+OK")
		if err := w.Run(worked); err != nil || args != "[1,2]" {
			t.Errorf("the handler got %s, %v", args, err)
		}
		if j := r.one("job-to-go"); j.State != job.Completed {
			t.Errorf("it is %s", j.State)
		}
	})
}

func TestBeatAndOrders(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		ctx := context.Background()
		p := r.worker("worker-1")
		p.want(`BEAT {"wid":"worker-2"}`, "-ERR unknown worker worker-2")
		p.want(`BEAT {"wid":"worker-1","rss_kb":2048}`, "+OK")
		workers, err := r.store.Workers(ctx)
		if err != nil || len(workers) != 1 || workers[0].Name != "faktory/worker-1" || workers[0].Host != "host-1" || workers[0].PID != 42 ||
			strings.Join(workers[0].Labels, ",") != "ruby-3.1" || workers[0].Memory != 2<<20 {
			t.Fatalf("workers %+v, %v", workers, err)
		}
		if err := r.store.SendCommand(ctx, "faktory/worker-1", job.Command{Do: job.CommandQuiet}); err != nil {
			t.Fatal(err)
		}
		p.want(`BEAT {"wid":"worker-1"}`, `{"state":"quiet"}`)
		p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
		if got := p.fetch("default"); got != nil {
			t.Errorf("a quiet client fetched %+v", got)
		}
		if err := r.store.SendCommand(ctx, "faktory/worker-1", job.Command{Do: job.CommandStop}); err != nil {
			t.Fatal(err)
		}
		p.want(`BEAT {"wid":"worker-1","current_state":"quiet"}`, `{"state":"terminate"}`)
		if got := r.worker("worker-3").fetchOne("default"); got.JID != "job-000001" {
			t.Errorf("fetched %+v", got)
		}
	})
}

// TestCounts: jobs that clients run are counted for the charts like those of workers in Go.
func TestCounts(t *testing.T) {
	t.Parallel()
	overEachStore(t, func(r *rig) {
		p := r.worker("worker-1")
		p.want(`PUSH {"jid":"job-000001","jobtype":"mail","args":[]}`, "+OK")
		p.want(`PUSH {"jid":"job-000002","jobtype":"mail","args":[]}`, "+OK")
		p.want(`ACK {"jid":"`+p.fetchOne("default").JID+`"}`, "+OK")
		p.want(`FAIL {"jid":"`+p.fetchOne("default").JID+`","message":"no"}`, "+OK")
		for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			p.want(`BEAT {"wid":"worker-1"}`, "+OK")
			stats, err := r.store.Stats(context.Background(), job.StatsFilter{Since: begun.Add(-time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			var completed, retried int64
			for _, s := range stats {
				if s.Kind == "mail" && s.Worker == "faktory/worker-1" {
					completed, retried = completed+s.Completed, retried+s.Retried
				}
			}
			if completed == 1 && retried == 1 {
				return
			}
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("got stats %+v", stats)
			}
		}
	})
}

func TestPushRefuses(t *testing.T) {
	r := newRig(t, configWith(nil))
	p := r.dial("")
	for _, test := range []struct{ command, want string }{
		{`PUSH {"jid":"short","jobtype":"a","args":[]}`, "-ERR a job has to have a jid of 8 to 200 bytes"},
		{`PUSH {"jid":"` + strings.Repeat("x", 201) + `","jobtype":"a","args":[]}`, "-ERR a job has to have a jid of 8 to 200 bytes"},
		{`PUSH {"jid":"with a space","jobtype":"a","args":[]}`, `-ERR the jid "with a space" has other characters`},
		{`PUSH {"jid":"with\"quote","jobtype":"a","args":[]}`, `-ERR the jid "with\"quote" has other characters`},
		{`PUSH {"jid":"abcdefgh","args":[]}`, "-ERR job abcdefgh has no jobtype"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a b","args":[]}`, "-ERR job abcdefgh: the name of the kind has a space"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a"}`, "-ERR job abcdefgh: the args have to be a JSON array"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":{}}`, "-ERR job abcdefgh: the args have to be a JSON array"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[` + strings.Repeat("1,", 1<<19) + `1]}`, "-ERR job abcdefgh: the args have 1048579 bytes, at most 1048576 are allowed"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"queue":"a b"}`, `-ERR job abcdefgh: the queue "a b"`},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"at":"soon"}`, `-ERR job abcdefgh: at "soon" is not a time`},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"reserve_for":86401}`, "-ERR job abcdefgh: reserve_for 86401: give seconds, up to a day"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"retry":1001}`, "-ERR job abcdefgh: retry 1001: give at most 1000"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":[]}`, "-ERR job abcdefgh: custom has to be a JSON object"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"a":"` + strings.Repeat("x", 4096) + `"}}`, "-ERR job abcdefgh: custom has 4104 bytes, at most 3796 are kept"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"bid":"b-1"}}`, "-ERR job abcdefgh: it has a bid, and this server has no batches"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"unique_for":0}}`, "-ERR job abcdefgh: unique_for"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"unique_for":"soon"}}`, `-ERR job abcdefgh: unique_for "soon": give seconds, at least 1`},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"unique_for":true}}`, `-ERR job abcdefgh: unique_for true: give seconds, at least 1`},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"unique_for":"NaN"}}`, `-ERR job abcdefgh: unique_for "NaN": give seconds, at least 1`},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"expires_at":"x"}}`, "-ERR job abcdefgh: expires_at"},
		{`PUSH x`, "-ERR PUSH: it is not a job in JSON"},
		{`PUSH`, "-ERR PUSH: it is not a job in JSON"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"queue":7}`, "-ERR PUSH: it is not a job in JSON: queue is of type number: give one of type string"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"retry":1.5}`, "-ERR PUSH: it is not a job in JSON: retry is 1.5: give one of type integer"},
		{`PUSH {"jid":"abcdefgh","jobtype":"a","args":[],"custom":{"bid":5}}`, "-ERR job abcdefgh: custom: bid is of type number: give one of type string"},
		{`PUSHB {}`, "-ERR PUSHB: it is not an array of jobs in JSON: it is of type object: give one of type array"},
		{`BEAT {"wid":7}`, "-ERR BEAT: wid is of type number: give one of type string"},
		{`MUTATE {"cmd":"kill","target":"dead","filter":7}`, "-ERR MUTATE: filter is of type number: give one of type object"},
		{`FAIL {"jid":"x` + strings.Repeat("é", 600) + `"}`, "-ERR Job not found xé"}, // the jid is cut
		{`NONSENSE`, `-ERR unknown command "NONSENSE"`},
		{`push {}`, `-ERR unknown command "push"`},
		{``, `-ERR unknown command ""`},
		{`FETCH`, "-ERR FETCH: name one queue at least"},
		{`FETCH a/b`, `-ERR FETCH: the queue "a/b"`},
		{`ACK x`, "-ERR invalid ACK"},
		{`FAIL {}`, "-ERR invalid FAIL"},
		{`BATCH NEW {}`, "-ERR BATCH: this server has no batches"},
		{`FLUSH`, "-ERR FLUSH is not allowed"},
		{`QUEUE`, "-ERR QUEUE: give PAUSE"},
		{`QUEUE BURN x`, "-ERR no such QUEUE subcommand: BURN"},
		{`QUEUE BURN *`, "-ERR no such QUEUE subcommand: BURN"}, // although there is no queue
		{`MUTATE {"cmd":"burn","target":"dead"}`, `-ERR MUTATE: cmd "burn"`},
		{`MUTATE {"cmd":"kill","target":"x"}`, `-ERR MUTATE: target "x"`},
		{`TRACK`, "-ERR TRACK: give GET"},
		{`TRACK SET {"jid":"abcdefgh","percent":101}`, "-ERR TRACK SET: 101 percent"},
		{`TRACK SET {"jid":"abcdefgh","percent":1}`, "-ERR Job not found abcdefgh"},
	} {
		if got := p.ask(test.command); !strings.HasPrefix(got, test.want) || !utf8.ValidString(got) {
			t.Errorf("%.200s: got %.300q, want %q", test.command, got, test.want)
		}
	}
	p.want(`PUSHB [{"jid":"job-000001","jobtype":"a","args":[]},{"jid":"x","jobtype":"a","args":[]}]`, `{"x":"a job has to have a jid of 8 to 200 bytes"}`)
	p.want(`PUSHB []`, `{}`)
	if j := r.one("job-000001"); j.State != job.Queued {
		t.Errorf("got job %+v", j)
	}
	if list, err := r.store.List(context.Background(), job.Filter{Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("%d jobs were enqueued, %v", len(list), err)
	}
}

func decode(t testing.TB, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return v
}

// TestLongTextsAreCut: texts that a client sends about a job are cut between characters.
func TestLongTextsAreCut(t *testing.T) {
	r := newRig(t, configWith(nil))
	p := r.worker("worker-1")
	p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
	p.fetchOne("default")
	p.want(`TRACK SET {"jid":"job-000001","percent":1,"desc":"`+strings.Repeat("x", 499)+`éé"}`, "+OK")
	if got := decode(t, p.ask("TRACK GET job-000001"))["desc"]; got != strings.Repeat("x", 499) {
		t.Errorf("the description is %.600q", got)
	}
	p.want(`FAIL {"jid":"job-000001","errtype":"`+strings.Repeat("x", 199)+`éé","message":"no"}`, "+OK")
	if got := r.one("job-000001").LastError(); got != strings.Repeat("x", 199)+": no" {
		t.Errorf("the error is %q", got)
	}
}

// TestErrorWithoutAType: the client for Node sends the type "undefined" for most errors.
func TestErrorWithoutAType(t *testing.T) {
	r := newRig(t, configWith(nil))
	p := r.worker("worker-1")
	p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[]}`, "+OK")
	p.fetchOne("default")
	p.want(`FAIL {"jid":"job-000001","errtype":"undefined","message":"not a picture"}`, "+OK")
	if got := r.one("job-000001").LastError(); got != "not a picture" {
		t.Errorf("the error is %q", got)
	}
}

// TestInfoOfJobsThatWereJustPushed: INFO counts first, and then reads which jobs are scheduled. Jobs that were pushed in between are in no count.
func TestInfoOfJobsThatWereJustPushed(t *testing.T) {
	r := newRig(t, configWith(countsBefore{memory.New()}))
	p := r.dial("")
	p.want(`PUSH {"jid":"job-000001","jobtype":"a","args":[],"at":"2999-01-01T00:00:00Z"}`, "+OK")
	info := p.ask("INFO")
	if got := decode(t, info)["faktory"].(map[string]any); got["total_enqueued"] != 0.0 || len(got["queues"].(map[string]any)) != 0 || got["sets"].(map[string]any)["scheduled"] != 1.0 {
		t.Errorf("INFO: %s", info)
	}
}

// countsBefore returns the counts from before all pushes.
type countsBefore struct{ job.Store }

func (countsBefore) Counts(context.Context) ([]job.Count, error) { return nil, nil }
