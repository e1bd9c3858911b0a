package redis_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestArgsInsideAndOutside replaces args by others, where short ones are kept in the hash of the job and long ones are not.
func TestArgsInsideAndOutside(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	var first *job.Job
	for _, size := range []int{10, 100, 64, 65, 10, 2000, 11} {
		want := `"` + strings.Repeat("x", size-2) + `"`
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
	got := claimed(t, s, 1, 1, nil, job.DefaultQueue)
	if len(got) != 1 || len(got[0].Args) != 11 || got[0].State != job.Running || got[0].Worker != "w1" || got[0].Started.IsZero() || got[0].Attempt != 1 {
		t.Errorf("claimed %+v", got)
	}
}
