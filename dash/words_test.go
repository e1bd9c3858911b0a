package dash_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestAttemptsOfAJob: the page of a job counts its attempts by the common terms, with the right plurals.
func TestAttemptsOfAJob(t *testing.T) {
	s := memory.New()
	j := enqueue(t, s, "mail", `{}`, 1, job.MaxAttempts(8))[0]
	for range 2 {
		settle(t, s, job.DefaultQueue, func(j *job.Job) { j.State, j.RunAt, j.Uncounted = job.Queued, time.Time{}, j.Attempt })
	}
	for session := range job.Session(2) { // the second one takes it over after the first one has crashed
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

// TestPluralsOfResults: the result of an action is reported with the right plurals.
func TestPluralsOfResults(t *testing.T) {
	h := dash.New(dash.Config{Store: memory.New()})
	for query, want := range map[string]string{
		"did-action=retry&did=1&did-skipped=1&did-conflicts=1": "1 job retried, 1 left alone for its state, 1 left alone since another job holds its unique key.",
		"did-action=retry&did=2&did-skipped=2&did-conflicts=2": "2 jobs retried, 2 left alone for their state, 2 left alone since other jobs hold their unique keys.",
		"did-action=undo&did=1&did-skipped=1&did-conflicts=1":  "Undone for 1 job; 1 left alone, as it has run or was changed since; 1 left alone, as another job holds its unique key.",
		"did-action=undo&did=2&did-skipped=2&did-conflicts=2":  "Undone for 2 jobs; 2 left alone, as they have run or were changed since; 2 left alone, as other jobs hold their unique keys.",
	} {
		has(t, get(t, h, "/jobs?"+query), http.StatusOK, want)
	}
}
