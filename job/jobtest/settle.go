package jobtest

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var settlePromises = []promise{
	{"settle in a final state", func(f *fixture) {
		for _, state := range finalStates {
			f.insertNew()
			j := f.claimOne("w")
			before := *j
			j.State, j.Detail = state, oddDetail()
			j.Kind, j.Args, j.Attempt, j.Crashed, j.Priority, j.Queue = "other", json.RawMessage(`2`), before.Attempt, 9, 1, "other"
			f.settle("w", j)
			got := f.read(j.ID)
			f.near("finished", got.Finished, f.now())
			if got.State != state || got.Kind != "k" || string(got.Args) != string(before.Args) || got.Attempt != 1 || got.Crashed != 0 ||
				got.Worker != "w" || got.CancelRequested {
				f.Errorf("settled as %s it is %+v", state, got)
			}
			f.sameTime("started", got.Started, before.Started)
			f.sameTime("created", got.Created, before.Created)
			f.sameDetail(got.Detail, oddDetail())
			if n := len(f.claim("x", 1)); n != 0 {
				f.Errorf("a job that is %s was claimed", state)
			}
		}
	}},
	{"settle as queued writes when it is due and what changed", func(f *fixture) {
		f.insertNew(job.Queue(job.DefaultQueue))
		j := f.claimOne("w")
		at := f.now().Add(time.Hour).Truncate(time.Second)
		j.State, j.Detail, j.Uncounted, j.MaxAttempts, j.Queue, j.Priority, j.RunAt = job.Queued, oddDetail(), 1, 7, "other", 9, at
		j.Kind, j.Crashed = "other", 5
		f.settle("w", j)
		got := f.read(j.ID)
		f.sameTime("due", got.RunAt, at)
		f.sameDetail(got.Detail, oddDetail())
		if got.State != job.Queued || got.Uncounted != 1 || got.MaxAttempts != 7 || got.Queue != "other" || got.Priority != 9 ||
			got.Attempt != 1 || got.Kind != "k" || got.Crashed != 0 || !got.Finished.IsZero() || got.Worker != "w" {
			f.Errorf("settled as queued it is %+v", got)
		}
	}},
	{"a job that was released is claimed with how often", func(f *fixture) {
		f.insertNew()
		for n := range 3 {
			j := f.claimOne("w")
			if j.Released != n || j.Used() != 1 {
				f.Errorf("claimed with %d releases and %d attempts used, want %d and 1", j.Released, j.Used(), n)
			}
			j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, 0
			j.Uncounted++
			j.Released++
			f.settle("w", j)
		}
	}},
	{"settle as queued with a delay", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
		f.settle("w", j)
		f.near("due", f.read(j.ID).RunAt, f.now().Add(time.Hour))
		if n := len(f.claim("w", 1)); n != 0 {
			f.Error("a job that was delayed was claimed at once")
		}
	}},
	{"settle as queued is due at once without time and delay", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("a")
		j.State, j.RunAt = job.Queued, time.Time{}
		f.settle("a", j)
		if got := f.claimOne("b"); got.ID != j.ID || got.Attempt != 2 {
			f.Errorf("claimed %+v, want attempt 2 of %v", got, j.ID)
		}
	}},
	{"settle as queued of a job that is to be canceled leaves it to be settled as canceled, with what follows that", func(f *fixture) {
		kept := f.insertNew(job.Unique("key"))
		held := f.insertNew(job.Unique("held"), job.UniqueFor(time.Hour))
		other := f.insertNew()
		jobs := f.take("w", 3)
		for _, j := range jobs {
			j.State, j.RunAt, j.Delay, j.Queue, j.Detail = job.Queued, time.Time{}, time.Hour, "other", oddDetail()
		}
		f.apply(job.ActionCancel, kept.ID, held.ID)
		lost, err := f.Settle(f.ctx, sessionOf("w"), job.Outcomes(jobs...)...)
		if err != nil {
			f.Fatalf("settle: %v", err)
		}
		f.sameIDs("lost", sorted(lost), sorted([]job.ID{kept.ID, held.ID}))
		f.state(other.ID, job.Queued)
		for _, j := range jobs {
			if j.ID == other.ID {
				continue
			}
			if got := f.read(j.ID); got.State != job.Running || !got.CancelRequested || got.Queue == "other" || !reflect.DeepEqual(got.Detail, job.Detail{}) {
				f.Errorf("settled as queued it is %+v, want it as it was", got)
			}
			j.State = job.Canceled
			then := f.job(job.Queue("then"))
			f.settleThrottled("w", nil, job.Outcome{Job: j, Then: []*job.Job{then}})
			got := f.read(j.ID)
			f.sameDetail(got.Detail, oddDetail())
			f.near("finished", got.Finished, f.now())
			if got.State != job.Canceled {
				f.Errorf("it is %s, want canceled", got.State)
			}
			f.state(then.ID, job.Queued)
		}
		f.insertNew(job.Unique("key"))
		if got := f.tryInsert(f.job(job.Unique("held"))); got[0] != held.ID {
			f.Errorf("a key that is held for an hour is that of %v, want %v", got[0], held.ID)
		}
		f.state(kept.ID, job.Canceled)
	}},
	{"settle as running writes the detail alone", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		before := f.read(j.ID)
		j.State, j.Detail = job.Running, oddDetail()
		j.Queue, j.Priority, j.Uncounted, j.MaxAttempts, j.RunAt = "other", 1, 3, 99, f.now().Add(time.Hour)
		f.settle("w", j)
		got := f.read(j.ID)
		f.sameDetail(got.Detail, oddDetail())
		got.Detail = job.Detail{}
		if !reflect.DeepEqual(got, before) {
			f.Errorf("settled as running it is %+v, want %+v", got, before)
		}
		if n := len(f.claim("x", 1)); n != 0 {
			f.Error("a job that is still held was claimed")
		}
		j.State, j.Detail = job.Completed, job.Detail{}
		f.settle("w", j)
		f.sameDetail(f.read(j.ID).Detail, job.Detail{})
	}},
	{"settle of many, some of them lost", func(f *fixture) {
		for range 6 {
			f.insertNew()
		}
		jobs := f.take("a", 6)
		states := []job.State{job.Completed, job.Canceled, job.Discarded, job.Queued, job.Running, job.Completed}
		for i, j := range jobs {
			j.State, j.RunAt, j.Delay = states[i], time.Time{}, time.Hour
		}
		gone := f.insertNew()
		f.remove(gone.ID)
		gone.State = job.Completed
		settled := *jobs[5]
		f.finish(&settled, job.Completed)
		f.remove(jobs[5].ID)
		lost, err := f.Settle(f.ctx, sessionOf("a"), job.Outcomes(append(jobs, gone)...)...)
		if err != nil {
			f.Fatalf("settle: %v", err)
		}
		f.sameIDs("lost", sorted(lost), sorted([]job.ID{jobs[5].ID, gone.ID}))
		for i, j := range jobs[:5] {
			f.state(j.ID, states[i])
		}
	}},
	{"settle of many at once", func(f *fixture) {
		jobs := make([]*job.Job, 1200)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		claimed := f.take("w", len(jobs))
		f.sameIDs("claimed", ids(claimed), ids(jobs))
		for i, j := range claimed {
			j.State = finalStates[i%3]
		}
		f.settle("w", claimed...)
		for _, state := range finalStates {
			if n := len(f.list(job.Filter{States: []job.State{state}})); n != 400 {
				f.Errorf("%d jobs are %s, want 400", n, state)
			}
		}
	}},
	{"settle of none", func(f *fixture) { f.settle("w") }},
	{"settle by another worker, or of another attempt, is lost", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("a")
		j.State = job.Completed
		f.settleLosing("b", []job.ID{j.ID}, j)
		for _, attempt := range []int{0, 2} {
			other := *j
			other.Attempt = attempt
			f.settleLosing("a", []job.ID{j.ID}, &other)
		}
		f.state(j.ID, job.Running)
		f.settle("a", j)
	}},
	{"settle of what is settled is lost", func(f *fixture) {
		for _, state := range append(finalStates, job.Queued) {
			f.insertNew()
			j := f.claimOne("w")
			j.State, j.RunAt, j.Delay = state, time.Time{}, time.Hour
			f.settle("w", j)
			for _, again := range append(finalStates, job.Queued, job.Running) {
				second := *j
				second.State = again
				f.settleLosing("w", []job.ID{j.ID}, &second)
			}
			f.state(j.ID, state)
		}
	}},
	{"settle leaves its jobs as they are", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		j.State, j.RunAt, j.Delay, j.Detail = job.Queued, time.Time{}, time.Hour, oddDetail()
		before := *j
		f.settle("w", j)
		if !reflect.DeepEqual(*j, before) {
			f.Errorf("settle changed the job to %+v, want %+v", *j, before)
		}
	}},
	{"a large detail", func(f *fixture) {
		f.insertNew()
		j := f.claimOne("w")
		j.Result = json.RawMessage(`"` + strings.Repeat("r", job.MaxResult-2) + `"`)
		for i := range job.MaxRecords {
			j.Records = append(j.Records, job.Record{Attempt: 1, Time: time.Unix(int64(i), 0).UTC(), Message: strings.Repeat("m", 600)})
		}
		want := j.Detail
		f.finish(j, job.Completed)
		f.sameDetail(f.read(j.ID).Detail, want)
	}},
}

// oddDetail returns a detail with every field set, and with text that is easily damaged.
func oddDetail() job.Detail {
	at := time.Date(2026, 3, 29, 1, 30, 0, 123456000, time.UTC)
	odd := "it's \"odd\"\n\x00\t\\ € 😀 \u2028 <b>&amp;</b> $1 ?"
	return job.Detail{
		Failures: []job.Failure{
			{Attempt: 1, Started: at, Time: at.Add(time.Second), Worker: "a", Error: odd, Stack: "goroutine 1 [running]:\n\tmain.go:1"},
			{Attempt: 2, Started: at, Time: at.Add(time.Minute), Worker: "b", Error: "second"},
		},
		Records:  []job.Record{{Attempt: 1, Time: at, Level: "INFO", Message: odd, Attrs: `a="b c"`}},
		Progress: &job.ProgressReport{Done: 3, Total: 1 << 40, Time: at},
		Result:   json.RawMessage(`{"b":[1,2.50,"\u0000"],"a":null}`),
		Released: 7,
	}
}

func (f *fixture) sameDetail(got, want job.Detail) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("detail is\n%+v, want\n%+v", got, want)
	}
}
