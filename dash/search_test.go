package dash_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestSearch(t *testing.T) {
	s := memory.New()
	failed := enqueue(t, s, "mail.send", `{"user":{"id":7}}`, 1)[0]
	settle(t, s, job.DefaultQueue, func(j *job.Job) {
		j.State = job.Discarded
		j.Failures = []job.Failure{{Attempt: 1, Started: j.Started, Time: time.Now(), Worker: "w", Error: "the relay REFUSED it"}}
	})
	later := enqueue(t, s, "page.load", `{"user":{"id":8}}`, 1, job.Queue("web"), job.In(time.Hour), job.Unique("one"))[0]
	h := dash.New(dash.Config{Store: s})
	for query, want := range map[string][]*job.Job{
		"":                              {failed, later},
		"kind=mail.send":                {failed},
		"kind=mail.send+page.load":      {failed, later},
		"queue=web":                     {later},
		"state=discarded":               {failed},
		"state=scheduled":               {later},
		"state=scheduled&state=running": {later},
		"args=user.id%3D7":              {failed},
		"args=user.id+%3D+8":            {later},
		"args=user.id%3D9":              {},
		"error=refused":                 {failed},
		"worker=w":                      {failed},
		"since=1h":                      {failed, later},
		"until=1h":                      {},
		"since=2020-01-31+15:04":        {failed, later},
		"until=2020-01-31":              {},
		"key=page.load+one":             {later},
		"id=" + later.ID.String():       {later},
		"before=" + later.ID.String():   {failed},
		"kind=mail.send&queue=web":      {},
		"nonsense=1&state=nonsense":     {failed, later},
	} {
		body := get(t, h, "/jobs?"+query).Body.String()
		for strings.Contains(body, going) { // needed on a busy machine
			body = get(t, h, "/jobs?"+query).Body.String()
		}
		for _, j := range []*job.Job{failed, later} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == j
			}
			if got := strings.Contains(body, `data-id="`+j.ID.String()); got != wanted {
				t.Errorf("?%s shows %s: %t, want %t (key %q)", query, j.Kind, got, wanted, j.UniqueKey)
			}
		}
	}
	for query, want := range map[string]string{
		"args=user":       "write a path and a value",
		"since=yesterday": "Since: &#34;yesterday&#34; is neither an age",
		"until=-1h":       "Until: &#34;-1h&#34; is neither an age",
		"id=7":            "ID: &#34;7&#34; is not a job ID",
		"before=7":        "Page: &#34;7&#34; is not a job ID",
		"id=" + strings.Repeat(later.ID.String()+"+", 201): "ID: 201 are more than 200",
	} {
		has(t, get(t, h, "/jobs?"+query), http.StatusBadRequest, want, "Correct the search")
	}
}

// TestSearchIsTheURL: the page shows the search of its URL, and its links continue from there.
func TestSearchIsTheURL(t *testing.T) {
	s := memory.New()
	jobs := enqueue(t, s, "mail", `{"user":1}`, 120)
	h := dash.New(dash.Config{Store: s})
	w := get(t, h, "/jobs?kind=mail&state=queued&sort=-kind&since=1h")
	has(t, w, http.StatusOK, `name="kind" value="mail"`, `name="state" value="queued"`, `name="since" value="1h"`, `aria-sort="descending"`,
		`/jobs?before=`+jobs[70].ID.String()+`&amp;kind=mail&amp;since=1h&amp;sort=-kind&amp;state=queued" rel="next"`, "Clear")
	if got := strings.Count(w.Body.String(), "<tr data-id="); got != 50 {
		t.Errorf("the first page has %d jobs", got)
	}
	w = get(t, h, "/jobs?kind=mail&before="+jobs[20].ID.String())
	has(t, w, http.StatusOK, `href="/jobs?kind=mail">Newest</a>`, "not rel=\"next\"")
	if got := strings.Count(w.Body.String(), "<tr data-id="); got != 20 {
		t.Errorf("the last page has %d jobs", got)
	}
	has(t, get(t, h, "/jobs?before="+jobs[0].ID.String()), http.StatusOK, "No more jobs")
}

func TestSort(t *testing.T) {
	s := memory.New()
	for _, kind := range []string{"b", "a", "c"} {
		enqueue(t, s, kind, `{}`, 1)
	}
	h := dash.New(dash.Config{Store: s})
	for sort, want := range map[string]string{"kind": "abc", "-kind": "cba", "nonsense": "cab"} {
		got := ""
		for _, part := range strings.Split(get(t, h, "/jobs?sort="+sort).Body.String(), "data-open>")[1:] {
			got += part[:1]
		}
		if got != want {
			t.Errorf("sort=%s: got %s, want %s", sort, got, want)
		}
	}
}

// TestSearchByWorker: the page of workers links to the jobs of each, even if its name starts or ends with a space.
func TestSearchByWorker(t *testing.T) {
	for _, name := range []string{"shop-1", " shop-1", "shop-1 ", "a=b&c+d"} {
		s := memory.New()
		j := enqueue(t, s, "mail.send", `{}`, 1)[0]
		report(t, s, job.WorkerInfo{Name: name, Queues: []string{job.DefaultQueue}, Kinds: []string{"mail.send"}, Concurrency: 1})
		claim := job.Claim{Worker: name, Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: time.Minute}
		if claimed, err := s.Claim(t.Context(), claim); err != nil || len(claimed.Jobs) != 1 {
			t.Fatalf("claimed %d jobs: %v", len(claimed.Jobs), err)
		}
		h := dash.New(dash.Config{Store: s})
		link := regexp.MustCompile(`/jobs\?worker=[^"]*`).FindString(get(t, h, "/workers").Body.String())
		w := get(t, h, html.UnescapeString(link))
		for strings.Contains(w.Body.String(), going) { // needed on a busy machine
			w = get(t, h, html.UnescapeString(link))
		}
		if has(t, w, http.StatusOK, `data-id="`+j.ID.String()); !strings.Contains(html.UnescapeString(w.Body.String()), `name="worker" value="`+name+`"`) {
			t.Errorf("the form does not have the worker %q", name)
		}
	}
}
