package dash_test

import (
	"html"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestReach: the charts of a queue and a kind show the work of the selected period, including minutes that the store has already aggregated.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &statsCounted{Store: memory.New()}
		at := func(ago time.Duration, completed int64) job.Stat {
			return job.Stat{Minute: time.Now().Add(-ago).Truncate(time.Minute), Queue: "mail", Kind: "mail.send", Completed: completed}
		}
		report(t, s, job.WorkerInfo{Name: "w", Queues: []string{"mail"}, Kinds: []string{"mail.send"}},
			at(5*time.Minute, 3), at(5*time.Hour, 40), at(5*time.Hour-2*time.Minute, 2), at(3*24*time.Hour, 700),
			job.Stat{Minute: time.Now().Add(-3 * 24 * time.Hour).Truncate(time.Minute), Queue: "other", Kind: "other", Completed: 900})
		for range 3 { // each call aggregates a part
			if _, err := s.Prune(t.Context(), nil, 10); err != nil {
				t.Fatal(err)
			}
		}
		h := dash.New(dash.Config{Store: s})
		for page, only := range map[string]job.StatsFilter{"/queue?name=mail": {Queue: "mail"}, "/kind?name=mail.send": {Kind: "mail.send"}} {
			has(t, get(t, h, page), http.StatusOK, "Completed per minute, the last hour", "the last hour, up to 5\"", ": 3</title>", "not : 42", "not : 700", `aria-current="true">1 hour<`)
			has(t, get(t, h, page+"&range=24h"), http.StatusOK, "Completed per half hour, the last 24 hours", "45 in all", ": 42</title>", "not : 700", `aria-current="true">24 hours<`)
			has(t, get(t, h, page+"&range=7d"), http.StatusOK, "Completed per 3 hours, the last 7 days", "745 in all", ": 700</title>", `aria-current="true">7 days<`)
			if got := s.filter.Load(); got.Queue != only.Queue || got.Kind != only.Kind {
				t.Errorf("%s reads a week of %+v, want of %+v", page, got, only)
			}
			has(t, get(t, h, page+"&range=2y"), http.StatusBadRequest, "is none of 1h, 24h and 7d")
		}
	})
}

// TestReachLeadsToJobs: a chart and its table link to the jobs of each step.
func TestReachLeadsToJobs(t *testing.T) {
	s := memory.New()
	j := enqueue(t, s, "mail.send", `{"n":"latter"}`, 1, job.Queue("mail"))[0]
	minute := j.ID.Time().UTC().Truncate(time.Minute)
	report(t, s, job.WorkerInfo{Name: "w", Queues: []string{"mail"}, Kinds: []string{"mail.send"}},
		job.Stat{Minute: minute, Queue: "mail", Kind: "mail.send", Completed: 1, Queued: 2})
	h := dash.New(dash.Config{Store: s})
	between := func(from time.Time, state string) string {
		q := url.Values{"queue": {"mail"}, "since": {from.Format(time.RFC3339)}, "until": {from.Add(time.Minute).Format(time.RFC3339)}}
		if state != "" {
			q.Set("state", state)
		}
		return "/jobs?" + q.Encode()
	}
	clock := minute.Format("15:04")
	has(t, get(t, h, "/queue?name=mail"), http.StatusOK,
		`<a href="`+html.EscapeString(between(minute, "completed"))+`" tabindex="-1" aria-label="`+clock+`: 1">`,
		`<td class="name"><a href="`+html.EscapeString(between(minute, ""))+`">`+clock+`</a></td>`)
	has(t, get(t, h, between(minute, "")), http.StatusOK, "latter")
	has(t, get(t, h, between(minute.Add(-time.Minute), "")), http.StatusOK, "No job matches")
}
