package sqlite_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestListLooksEverywhere compares the lists of two stores with the same jobs, of which most are alike, so that the store
// looks for the rest in each of its ways.
func TestListLooksEverywhere(t *testing.T) {
	here, there := open(t, file(t)), memory.New()
	random := rand.New(rand.NewPCG(1, 2))
	states := []job.State{job.Queued, job.Completed, job.Canceled, job.Discarded}
	rare := func(n int) string { return fmt.Sprint(random.IntN(n)) }
	for range 40 {
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
			if _, err := s.Change(t.Context(), ids(jobs), func(j *job.Job) job.Decision {
				if j.State = become[j.ID]; j.State == job.Queued {
					return job.Leave
				}
				return job.Write
			}); err != nil {
				t.Fatal(err)
			}
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
		if _, err := s.Settle(t.Context(), c.Worker, again...); err != nil {
			t.Fatal(err)
		}
	}
	some := func(of ...string) []string {
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		return of[:random.IntN(3)]
	}
	matched := 0
	for range 500 {
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

func ids(jobs []*job.Job) []job.ID {
	var ids []job.ID
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}
