package redis_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestArgsInsideAndOutside replaces args by others: short args are part of the job's value, long ones are stored separately.
func TestArgsInsideAndOutside(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	var first *job.Job
	var want string
	for _, size := range []int{10, 100, 64, 65, 10, 256, 257, 128, 129, 2000, 192, 70} {
		want = letters(size)
		j := newJob(t, "k", job.Unique("u"), job.Replace())
		j.Args = []byte(want)
		insert(t, s, j)
		if first == nil {
			first = j
		}
		jobs, err := s.List(t.Context(), job.Filter{Limit: 10})
		if err != nil || len(jobs) != 1 || jobs[0].ID != first.ID || string(jobs[0].Args) != want {
			t.Fatalf("after args of %d bytes there are %d jobs, %v; the args are %.100s", size, len(jobs), err, jobs[0].Args)
		}
	}
	// A long detail, which is part of the value, does not affect the args.
	got := claimed(t, s, 1, 1, nil, job.DefaultQueue)
	got[0].State, got[0].Result = job.Queued, []byte(`"`+strings.Repeat("r", 1000)+`"`)
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got...)...); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	got = claimed(t, s, 1, 1, nil, job.DefaultQueue)
	if len(got) != 1 || string(got[0].Args) != want || got[0].State != job.Running || got[0].Worker != "w1" || got[0].Started.IsZero() || got[0].Attempt != 2 {
		t.Errorf("claimed %+v", got)
	}
}

// letters returns a JSON string of the given size, without repeated parts.
func letters(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		fmt.Fprint(&text, i, " ")
	}
	return `"` + text.String()[:size-2] + `"`
}
