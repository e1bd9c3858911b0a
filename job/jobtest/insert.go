package jobtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var insertPromises = []promise{
	{"options of a job stay with it", func(f *fixture) {
		meta := map[string]string{"tenant": "7", "request": `a "quoted" <é> \ key`, "empty": ""}
		j := f.insertNew(job.Timeout(90*time.Second), job.Meta("tenant", "6"), job.Meta("tenant", "7"), job.Meta("request", meta["request"]), job.Meta("empty", ""))
		plain := f.insertNew(job.Unique("a"))
		check := func(when string, got *job.Job) {
			f.Helper()
			if got.Timeout != 90*time.Second || !maps.Equal(got.Meta, meta) {
				f.Errorf("%s: a timeout of %v and meta %q, want %v and %q", when, got.Timeout, got.Meta, 90*time.Second, meta)
			}
		}
		check("queued", f.read(j.ID))
		claimed := f.claim("w", 2)
		check("claimed", claimed[0])
		if other := claimed[1]; other.Timeout != 0 || other.Meta != nil {
			f.Errorf("a job without options has a timeout of %v and meta %q", other.Timeout, other.Meta)
		}
		check("running", f.read(j.ID))
		again := *claimed[0]
		again.State, again.RunAt, again.Delay, again.Options = job.Queued, time.Time{}, 0, job.Options{}
		f.settle("w", &again)
		check("queued again", f.read(j.ID))
		check("claimed again", f.claimOne("w"))
		f.finish(f.read(j.ID), job.Completed)
		check("completed", f.read(j.ID))
		f.apply(job.ActionRetry, j.ID)
		check("retried", f.read(j.ID))
		f.apply(job.ActionCancel, j.ID)
		check("canceled", f.read(j.ID))
		found := func(meta map[string]string, want ...job.ID) {
			f.Helper()
			for _, filter := range []job.Filter{{}, {Kinds: []string{"k"}}, {States: []job.State{job.Canceled, job.Running}}} {
				filter.Meta = meta
				f.sameIDs("found", ids(f.list(filter)), want)
			}
		}
		found(meta, j.ID)
		found(map[string]string{"tenant": "7"}, j.ID)
		found(map[string]string{"tenant": "7", "empty": "x"})
		found(map[string]string{"tenant": "77"})
		found(map[string]string{"7": "tenant"})
		f.finish(claimed[1], job.Completed)
		if got := f.read(plain.ID); got.Meta != nil {
			f.Errorf("meta %q", got.Meta)
		}
	}},
	{"insert stores a job with all its fields", func(f *fixture) {
		j := f.kind("mail.send", job.Queue("mail"), job.Priority(7), job.MaxAttempts(3), job.Unique("a"), job.UniqueFor(time.Hour), job.In(time.Hour))
		before := *j
		f.insert(j)
		if !reflect.DeepEqual(*j, before) {
			f.Errorf("insert changed the job to %+v, want %+v", *j, before)
		}
		got := f.read(j.ID)
		now := f.now()
		f.near("created", got.Created, now)
		f.near("due", got.RunAt, now.Add(time.Hour))
		if !bytes.Equal(got.Args, j.Args) {
			f.Errorf("args are %s, want %s", got.Args, j.Args)
		}
		want := *j
		want.Created, want.RunAt, want.Args, want.Delay = got.Created, got.RunAt, got.Args, 0
		if !reflect.DeepEqual(*got, want) {
			f.Errorf("stored %+v, want %+v", *got, want)
		}
	}},
	{"insert without a time is due at once", func(f *fixture) {
		j := f.insertNew()
		f.near("due", f.read(j.ID).RunAt, f.now())
		f.due(j)
	}},
	{"insert with a time", func(f *fixture) {
		at := f.now().Add(time.Hour).Truncate(time.Second)
		j := f.insertNew(job.At(at))
		f.sameTime("due", f.read(j.ID).RunAt, at)
		past := f.insertNew(job.At(at.Add(-48 * time.Hour)))
		first := f.insertNew(job.At(time.Unix(0, 0)))
		f.sameTime("due", f.read(first.ID).RunAt, time.Unix(0, 0))
		f.due(first, past)
	}},
	{"insert of a delayed job is due later", func(f *fixture) {
		j := f.insertNew(job.In(2 * short))
		f.eventually("the delayed job", func() bool { return len(f.claim("w", 1)) == 1 })
		got := f.read(j.ID)
		if got.Started.Before(got.RunAt) {
			f.Errorf("claimed at %v, before it was due at %v", got.Started, got.RunAt)
		}
	}},
	{"insert of no jobs", func(f *fixture) { f.insert() }},
	{"insert of many jobs keeps their order", func(f *fixture) {
		jobs := make([]*job.Job, 2500)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		f.due(jobs...)
	}},
	{"insert is all or none", func(f *fixture) {
		there := f.insertNew(job.Queue("there"))
		a, b := f.job(), f.job()
		again := f.job()
		again.ID = there.ID
		if _, err := f.Insert(f.ctx, a, again, b); err == nil {
			f.Fatal("insert of a job whose ID exists already returned no error")
		}
		if f.exists(a.ID) || f.exists(b.ID) {
			f.Error("insert returned an error and stored some of the jobs")
		}
		if got := f.read(there.ID); got.Queue != "there" {
			f.Errorf("insert changed the existing job: %+v", got)
		}
	}},
	{"insert refuses what is stored, in each state", func(f *fixture) {
		for i, options := range [][]job.EnqueueOption{nil, {job.LimitKey("key")}, {job.Unique("key")}} {
			for _, state := range append(finalStates, job.Running, job.Queued) {
				var there *job.Job
				switch queue := job.Queue(fmt.Sprint(i, state)); state {
				case job.Queued:
					there = f.insertNew(append(options, queue)...)
				case job.Running:
					f.insertNew(options...)
					there = f.claimOne("w")
				default:
					there = f.insertFinished(state, append(options, queue)...)
				}
				again := f.job(append(options, job.Queue("again"))...)
				again.ID = there.ID
				many := []*job.Job{again}
				for range 30 {
					many = append(many, f.job(job.Queue("again"), job.LimitKey("other")))
				}
				for _, jobs := range [][]*job.Job{{again}, {f.job(job.Queue("again")), again}, many} {
					if got, err := f.Insert(f.ctx, jobs...); err == nil {
						f.Fatalf("insert of %d jobs, one of which is %s, returned %v", len(jobs), state, got)
					}
				}
				f.state(there.ID, state)
				if state == job.Running {
					f.finish(there, job.Completed)
				}
				f.remove(there.ID)
			}
		}
		if got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "again"), Limit: 5, Lease: long}); len(got.Jobs) > 0 {
			f.Errorf("claimed %v, which were refused", ids(got.Jobs))
		}
	}},
	{"args come back as they were", func(f *fixture) {
		var jobs []*job.Job
		for _, text := range []string{
			`null`, `0`, `-1.50e+10`, `""`, `[]`, `{}`, `true`, `{"b":1,"a":2,"b":3}`,
			`"äöü ß € 日本語 \ud83d\ude00 😀"`, `"\u0000\u001f\u007f\u2028"`, `"\"\\\/\b\f\n\r\t"`,
			`{"it's":"a \"quote\"; -- DROP TABLE jobs; $1 ? :x @y %s {{.}} <b>&amp;</b>"}`,
			`12345678901234567890123456789.000000000000000000001`, `"\ud800"`,
			`[` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `]`,
		} {
			j := f.job()
			j.Args = json.RawMessage(text)
			jobs = append(jobs, j)
		}
		f.insert(jobs...)
		claimed := f.take("w", len(jobs))
		f.sameIDs("claimed", ids(claimed), ids(jobs))
		for i, j := range jobs {
			for _, got := range []*job.Job{claimed[i], f.read(j.ID)} {
				if !bytes.Equal(got.Args, j.Args) {
					f.Errorf("args are %s, want %s", got.Args, j.Args)
				}
			}
			claimed[i].State = job.Completed
		}
		f.settle("w", claimed...)
		for _, j := range jobs {
			if got := f.read(j.ID).Args; !bytes.Equal(got, j.Args) {
				f.Errorf("args of the finished job are %s, want %s", got, j.Args)
			}
		}
	}},
	{"large args", func(f *fixture) {
		j := f.job()
		j.Args = json.RawMessage(`"` + strings.Repeat("x", job.MaxArgs-2) + `"`)
		f.insert(j)
		got := f.claimOne("w")
		if !bytes.Equal(got.Args, j.Args) {
			f.Errorf("args of %d bytes came back different, with %d bytes", len(j.Args), len(got.Args))
		}
		f.finish(got, job.Completed)
		if got := f.read(j.ID); !bytes.Equal(got.Args, j.Args) {
			f.Errorf("args of %d bytes came back different, with %d bytes", len(j.Args), len(got.Args))
		}
	}},
	{"odd names", func(f *fixture) {
		for _, name := range []string{"it's", `"q"`, "日本語", "a,b;c", "%s", `back\slash`, "{curly}", "*", strings.Repeat("n", job.MaxName)} {
			j := f.kind(name, job.Queue(name), job.Unique(name[:min(len(name), 100)]))
			f.insert(j)
			claimed := f.claimBy(job.Claim{Worker: name, Session: sessionOf(name), Queues: queues(2, name), Limit: 2, Lease: long}).Jobs
			f.sameIDs("claimed from "+name, ids(claimed), []job.ID{j.ID})
			if got := claimed[0]; got.Kind != name || got.Queue != name || got.Worker != name || got.UniqueKey != j.UniqueKey {
				f.Errorf("claimed %+v, want %q in its names", got, name)
			}
			f.finish(claimed[0], job.Completed)
			f.sameIDs("listed by "+name, ids(f.list(job.Filter{Kinds: []string{name}, Queues: []string{name}, Worker: name, UniqueKey: j.UniqueKey})), []job.ID{j.ID})
		}
	}},
	{"what a caller does with its jobs does not reach the store", func(f *fixture) {
		j := f.insertNew()
		want := string(j.Args)
		j.Kind, j.Args[0] = "other", 'x'
		claimed := f.claimOne("w")
		claimed.Args[0], claimed.Kind = 'x', "other"
		claimed.State, claimed.Result = job.Running, json.RawMessage(`{"a":1}`)
		f.settle("w", claimed)
		claimed.Result[0] = 'x'
		listed := f.read(j.ID)
		listed.Args[0], listed.Result[1] = 'x', 'x'
		if got := f.read(j.ID); got.Kind != "k" || string(got.Args) != want || string(got.Result) != `{"a":1}` {
			f.Errorf("the stored job became %+v", got)
		}
	}},
}
