package dash_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAttemptsOfAJob: the page of a job counts its attempts by the words of the field, of which none has a wrong plural.
func TestAttemptsOfAJob(t *testing.T) {
	s := memory.New()
	j := enqueue(t, s, "mail", `{}`, 1, job.MaxAttempts(8))[0]
	for range 2 {
		settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State, j.RunAt, j.Spared = job.Queued, time.Time{}, j.Attempt })
	}
	for session := range job.Session(2) { // the next one takes it over from one that has crashed
		claim := job.Claim{Worker: "w", Session: 2 + session, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Nanosecond, Expired: true}
		if got, err := s.Claim(t.Context(), claim); err != nil || len(got.Jobs) != 1 {
			t.Fatal(got, err)
		}
	}
	claim := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute, Expired: true}
	if got, err := s.Claim(t.Context(), claim); err != nil || len(got.Jobs) != 1 {
		t.Fatal(got, err)
	}
	has(t, get(t, dash.New(dash.Config{Store: s}), "/jobs/"+j.ID.String()), http.StatusOK, `3 of 8 used, 2 uncounted, <span class="bad">2 crashed</span>`, "not processs")
}
