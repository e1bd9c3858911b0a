package lanelaw

import (
	"fmt"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// CheckTurns lets two processes that know of some keys claim in turns: no key has another turn before all have had theirs, whichever process claims.
func CheckTurns(t *testing.T, a, b job.Store) {
	const keys, rounds = 6, 4
	for _, weight := range []int{1, 2} {
		if err := a.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Weight: weight}}); err != nil {
			t.Fatal(err)
		}
		insert(t, a, keys, rounds*weight)
		for _, s := range []job.Store{a, b} { // after which it knows the keys
			if got := claim(t, s, 1, "another"); len(got) != 0 {
				t.Fatalf("claimed %d jobs, want none", len(got))
			}
		}
		started := map[string]int{}
		for i := range keys * rounds * weight {
			got := claim(t, []job.Store{a, b, b}[i%3], 1)
			if len(got) != 1 {
				t.Fatalf("weight %d: claimed %d jobs, want one", weight, len(got))
			}
			key := got[0].LimitKey
			if started[key]++; started[key] > (i/(keys*weight)+1)*weight {
				t.Errorf("weight %d: job %d is the %dth of %s", weight, i+1, started[key], key)
			}
		}
	}
}

// CheckForgotten lets a process claim that forgets what it knows between its claims: each key still has its turn.
func CheckForgotten(t *testing.T, s job.Store, forget func()) {
	const keys, claims = 1000, 10
	insert(t, s, keys, 2)
	started := map[string]int{}
	for range claims {
		for _, j := range claim(t, s, keys/claims) {
			started[j.LimitKey]++
		}
		forget()
	}
	twice := 0
	for _, n := range started {
		if n > 1 {
			twice++
		}
	}
	if len(started) != keys || twice > 0 {
		t.Errorf("%d of %d keys have started jobs, and %d of them more than one", len(started), keys, twice)
	}
}

// insert inserts jobs with limit keys. keys is the number of keys, and each the number of jobs for each key.
func insert(t *testing.T, s job.Store, keys, each int) {
	t.Helper()
	jobs := make([]*job.Job, keys*each)
	for i := range jobs {
		var err error
		if jobs[i], err = job.New("k", []byte("null"), job.LimitKey(fmt.Sprint("key ", i%keys))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, s job.Store, n int, kinds ...string) []*job.Job {
	t.Helper()
	got, err := s.Claim(t.Context(), job.Claim{
		Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}}, Limit: n, Lease: time.Hour, Kinds: kinds,
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.Jobs
}
