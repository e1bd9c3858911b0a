package dash_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// evil breaks out of a text, an attribute or a URL if it is not escaped.
const evil = `"'><script>alert(1)</script><img src=x onerror=alert(2)>javascript:alert(3)`

// A hostile store has evil in each field whose value may come from elsewhere.
type hostile struct{ job.Store }

func (hostile) job() *job.Job {
	now := time.Now()
	args, _ := json.Marshal(map[string]string{evil: evil, "plain": "</pre>" + evil})
	return &job.Job{
		ID: job.NewID(), Kind: evil, Queue: evil, Args: args, State: job.Running, Attempt: 2, MaxAttempts: 3, UniqueKey: evil, Worker: evil,
		Created: now, RunAt: now, Started: now,
		Detail: job.Detail{
			Failures: []job.Failure{{Attempt: 1, Started: now, Time: now, Worker: evil, Error: evil, Stack: evil}},
			Records:  []job.Record{{Attempt: 1, Time: now, Level: evil, Message: evil, Attrs: evil}},
			Progress: &job.ProgressReport{Done: 1, Total: 2, Time: now},
			Result:   args,
		},
	}
}

func (h hostile) List(context.Context, job.Filter) ([]*job.Job, error) {
	return []*job.Job{h.job()}, nil
}

func (hostile) Counts(context.Context) ([]job.Count, error) {
	return []job.Count{{Queue: evil, Kind: evil, State: job.Queued, N: 3}, {Queue: evil, Kind: evil, State: job.State(evil), N: 1}}, nil
}

func (hostile) Queues(context.Context) ([]job.QueueInfo, error) {
	return []job.QueueInfo{{Name: evil, Queued: 3, Wait: time.Hour}, {Name: evil + "2", Paused: true}}, nil
}

func (hostile) Workers(context.Context, ...string) ([]job.WorkerInfo, error) {
	return []job.WorkerInfo{
		{Name: evil, Host: evil, Version: evil, Queues: []string{evil}, Kinds: []string{evil}, Started: time.Now(), Seen: time.Now()},
		{Name: evil + "gone", Host: evil, Stopping: true},
	}, nil
}

func (hostile) Crons(context.Context) ([]job.CronInfo, error) {
	return []job.CronInfo{{Name: evil, Spec: evil, Next: time.Now().Add(-time.Hour), Job: job.NewID(), Noted: time.Now()}}, nil
}

func TestEscaping(t *testing.T) {
	h := dash.New(dash.Config{Store: hostile{memory.New()}, Title: evil, Version: evil, SignOut: evil})
	query := url.Values{}
	for _, name := range []string{
		"kind", "queue", "state", "args", "error", "worker", "since", "until", "key", "before", "sort", "action", "argument", "back", "done", "did", "did-action",
		"did-text", "did-undo", "worker", "task", "theme", evil,
	} {
		query.Add(name, evil)
	}
	paths := append([]string{"/jobs/" + job.NewID().String(), "/jobs/action?action=move&all=1&back=" + url.QueryEscape("/"+evil), "/jobs/" + url.PathEscape(evil)}, allPages...)
	for _, path := range paths {
		for _, q := range []string{"", query.Encode()} {
			if q != "" && strings.Contains(path, "?") {
				continue
			}
			w := get(t, h, path+"?"+q)
			checkEscaped(t, path, w.Body.String())
			if w.Code == http.StatusOK && strings.Contains(w.Body.String(), "data-page=") {
				checkEscaped(t, "the stream of "+path, decoded(t, read(t, h, path+"?"+q)))
			}
		}
	}
	for _, write := range writes {
		var fields []string
		for _, field := range []string{"action", "id", "queue", "worker", "cron", "argument", "back", "args"} {
			fields = append(fields, field, evil)
		}
		w := post(t, h, write[0], fields...)
		checkEscaped(t, write[0], w.Body.String())
	}
}

// checkEscaped looks for elements and attributes that evil has created.
func checkEscaped(t *testing.T, where, html string) {
	t.Helper()
	for _, bad := range []string{"<script>", "<img src=x", "'><", `href="javascript:`, `action="javascript:`, "ZgotmplZ"} {
		if i := strings.Index(html, bad); i >= 0 {
			t.Errorf("%s has %s: …%s…", where, bad, html[max(i-150, 0):min(i+100, len(html))])
		}
	}
	if len(html) < 20 {
		t.Errorf("%s is empty: %q", where, html)
	}
}

// decoded returns the HTML in the events of a stream.
func decoded(t *testing.T, events string) string {
	t.Helper()
	var all strings.Builder
	for line := range strings.Lines(events) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var parts map[string]string
			if err := json.Unmarshal([]byte(data), &parts); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			for _, html := range parts {
				all.WriteString(html)
			}
		}
	}
	return all.String()
}
