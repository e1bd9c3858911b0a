package sqlite_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestListLooksEverywhere compares the lists of two stores with the same jobs, most of which are alike, so that the store uses
// each of its searches for the rest.
func TestListLooksEverywhere(t *testing.T) {
	here, there := open(t, migrated(t)), memory.New()
	random := rand.New(rand.NewPCG(1, 2))
	states := []job.State{job.Queued, job.Completed, job.Canceled, job.Discarded}
	rare := func(n int) string { return fmt.Sprint(random.IntN(n)) }
	for range testenv.Rounds(10, 40) {
		var jobs []*job.Job
		for i := range 100 {
			var opts []job.EnqueueOption
			kind := "common"
			switch {
			case i%33 == 0:
				kind = "rare" + rare(3)
				opts = append(opts, job.Queue("q"+rare(3)), job.In(time.Duration(random.IntN(2))*time.Hour))
			case i == 50:
				opts = append(opts, job.Queue("claimed"))
			}
			j, err := job.New(kind, json.RawMessage(`null`), opts...)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		for _, s := range []job.Store{here, there} {
			insert(t, s, jobs)
		}
		become := map[job.ID]job.State{}
		for i, j := range jobs {
			become[j.ID] = job.Completed
			if i%33 == 0 {
				become[j.ID] = states[random.IntN(len(states))]
			} else if i == 50 {
				become[j.ID] = job.Queued
			}
		}
		for _, s := range []job.Store{here, there} {
			finish(t, s, become)
		}
	}
	for _, s := range []job.Store{here, there} {
		c := benchClaim
		c.Limit, c.Queues = 20, []job.QueueLimit{{Queue: "claimed", Limit: 20}}
		got, err := s.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var again []*job.Job
		for _, j := range got.Jobs[:10] {
			j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
			again = append(again, j)
		}
		if _, err := s.Settle(t.Context(), 1, job.Outcomes(again...)...); err != nil {
			t.Fatal(err)
		}
	}
	some := func(of ...string) []string {
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		return of[:random.IntN(3)]
	}
	matched := 0
	for range testenv.Rounds(100, 500) {
		f := job.Filter{Limit: 1 + random.IntN(50), Kinds: some("rare0", "rare1", "rare2", "common", "none"), Queues: some("q0", "q1", "q2", "default", "claimed")}
		for _, name := range some("queued", "running", "completed", "canceled", "discarded", "scheduled", "retrying") {
			f.States = append(f.States, job.State(name))
		}
		if random.IntN(4) == 0 {
			f.Worker = benchClaim.Worker
		}
		want, err := there.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 && random.IntN(2) == 0 {
			f.Before = want[random.IntN(len(want))].ID
			if want, err = there.List(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		got, err := here.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ids(got), ids(want)) {
			t.Errorf("%+v: %d jobs, want %d", f, len(got), len(want))
		}
		matched += len(want)
	}
	if matched == 0 {
		t.Error("nothing ever matched")
	}
	checkIntegrity(t, here)
}

// TestListOfScheduledBehindRetried: scheduled jobs are found behind many others that are due as late and have failed before.
func TestListOfScheduledBehindRetried(t *testing.T) {
	s := open(t, migrated(t))
	add := func(n int, queue string, opts ...job.EnqueueOption) (jobs []*job.Job) {
		for range n {
			j, err := job.New("k", json.RawMessage("null"), append(opts, job.Queue(queue))...)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		insert(t, s, jobs)
		return jobs
	}
	want := ids(add(15, "q", job.In(time.Hour)))
	want = append(want, ids(add(15, "q", job.In(time.Hour), job.LimitKey("key")))...)
	for i := range 3 {
		add(1, fmt.Sprint("other", i))
	}
	add(100, "q")
	c := benchClaim
	c.Limit, c.Queues = 100, []job.QueueLimit{{Queue: "q", Limit: 100}}
	got, err := s.Claim(t.Context(), c)
	if err != nil || len(got.Jobs) != 100 {
		t.Fatal(len(got.Jobs), err)
	}
	for _, j := range got.Jobs {
		j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
	}
	if _, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(want)
	for limit := 1; limit < 50; limit++ {
		found, err := s.List(t.Context(), job.Filter{Queues: []string{"q"}, States: []job.State{job.Scheduled}, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if want := want[:min(limit, len(want))]; !slices.Equal(ids(found), want) {
			t.Errorf("of a limit of %d: %d jobs, want %d", limit, len(found), len(want))
		}
	}
}

// TestSearchLeavesNoneOut: however args are written, a search finds all jobs that match.
func TestSearchLeavesNoneOut(t *testing.T) {
	s, all := open(t, migrated(t)), memory.New() // its List does not read args
	texts := []string{
		`{"id":7}`, `{"id":"7"}`, `{"id": 7}`, `{"id" :7}`, "{\"id\":\n\t7}", "{\"id\"\r:7}", `{"\u0069d":7}`, `{"id":"\u0037"}`, `{"id":1,"id":7}`,
		`{"a":{"id":7}}`, `{"a":[{"id":7}]}`, `{"a":[7]}`, `{"a":{"0":7}}`, `{"a":["7"]}`, `{"id":70}`, `{"id":[7]}`, `{"to":"it's: \" a@b.c"}`,
		`{"to":"a@b.c"}`, `{"to":"a\/b.c"}`, `{"to":"a/b.c"}`, `{"to":"Zoë"}`, `{"to":true}`, `{"to":null}`, `{"to":1.50}`, `{"to":-7e3}`,
		`7`, `"7"`, `{"x y":"7"}`, `{"é":"7"}`, `{"x-y":7}`, `{"+1":7}`,
	}
	for _, text := range texts {
		j, err := job.New("k", json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		insert(t, s, []*job.Job{j})
		insert(t, all, []*job.Job{j})
	}
	found := func(s job.Store, f job.Filter) (texts []string) {
		for j, err := range job.List(t.Context(), s, f) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(j.Args))
		}
		return texts
	}
	for _, m := range [][2]string{
		{"id", "7"},
		{"a.id", "7"},
		{"a.0.id", "7"},
		{"a.0", "7"},
		{"", "7"},
		{"x y", "7"},
		{"é", "7"},
		{"x-y", "7"},
		{"+1", "7"},
		{"id", "[7]"},
		{"to", "a@b.c"},
		{"to", "a/b.c"},
		{"to", "Zoë"},
		{"to", "true"},
		{"to", "null"},
		{"to", "1.50"},
		{"to", "-7e3"},
		{"to", `it's: " a@b.c`},
	} {
		f := job.Filter{Args: []job.ArgsMatch{{Path: m[0], Value: m[1]}}}
		if got, want := found(s, f), found(all, f); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s=%s: found %q, want %q", m[0], m[1], got, want)
		}
	}
}

// finish brings queued jobs to their states in become, if these differ.
func finish(t *testing.T, s job.Store, become map[job.ID]job.State) {
	t.Helper()
	by := map[job.State][]job.ID{}
	for id, state := range become {
		by[state] = append(by[state], id)
	}
	for state, action := range map[job.State]job.Action{
		job.Canceled: job.ActionCancel, job.Discarded: job.ActionDiscard, job.Completed: job.ActionRunAt(time.Now().Add(-time.Hour)),
	} {
		if _, err := job.Apply(t.Context(), s, job.Filter{IDs: append(by[state], job.ID{})}, action); err != nil {
			t.Fatal(err)
		}
	}
	c := job.Claim{Worker: "w", Session: 1, Limit: 1000, Lease: time.Hour}
	for _, queue := range []string{job.DefaultQueue, "q0", "q1", "q2"} {
		c.Queues = append(c.Queues, job.QueueLimit{Queue: queue, Limit: 1000})
	}
	got, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range got.Jobs {
		if j.State = become[j.ID]; j.State != job.Completed {
			j.State, j.Uncounted = job.Queued, j.Attempt
		}
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got.Jobs...)...); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
}

func ids(jobs []*job.Job) []job.ID {
	var ids []job.ID
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}
