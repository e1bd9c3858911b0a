package dash_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

const hush = "hunter2"

// secretive enqueues a job that has a secret in each of its texts.
func secretive(t *testing.T, s job.Store) *job.Job {
	t.Helper()
	enqueue(t, s, "login", `{"user":"lovelace","Password":"hunter2","deep":[{"API-Key":{"id":"hunter2"}},"x"],"n":1.50,"apiKey":["hunter2"]}`, 1)
	return settle(t, s, job.DefaultQueue, func(j *job.Job) {
		j.State, j.Result = job.Discarded, json.RawMessage(`{"token":"hunter2","ok":true}`)
		j.Failures = []job.Failure{{
			Attempt: 1, Started: j.Started, Time: time.Now(), Worker: "w",
			Error: `login at https://example.org/?user=lovelace&token=hunter2 with {"password":"hunter2"}: refused`,
			Stack: "main.login(password: hunter2)\nAuthorization: Bearer hunter2",
		}}
		j.Records = []job.Record{{Attempt: 1, Time: time.Now(), Level: "INFO", Message: "secret=hunter2", Attrs: `api_key="hunter2 hunter2" user=lovelace`}}
	})
}

func TestMask(t *testing.T) {
	s := memory.New()
	id := secretive(t, s).ID.String()
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/failures"), http.StatusOK, "not "+hush, "•••", "login at")
	for _, path := range []string{"/jobs", "/jobs/" + id, "/jobs/" + id + "/raw"} {
		has(t, get(t, h, path), http.StatusOK, "not "+hush, "•••", "lovelace")
		if events := read(t, h, path); strings.Contains(events, hush) {
			t.Errorf("the stream of %s has the secret: %s", path, events)
		}
	}
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, "1.50", `user=lovelace&amp;token=•••`)
	var raw job.Job
	if err := json.Unmarshal(get(t, h, "/jobs/"+id+"/raw").Body.Bytes(), &raw); err != nil || raw.Kind != "login" {
		t.Errorf("the raw view is not a job: %v", err)
	}
	// Searching reveals nothing.
	for _, path := range []string{"password", "Password", "deep.0.API-Key.id", "apiKey.0"} {
		has(t, get(t, h, "/jobs?args="+path+"%3D"+hush), http.StatusBadRequest, "is masked, and cannot be searched")
		has(t, get(t, h, "/jobs/action?action=retry&all=1&args="+path+"%3D"+hush), http.StatusBadRequest, "is masked, and cannot be searched")
	}
	has(t, get(t, h, "/jobs?error=REFUSED"), http.StatusOK, id)
	for _, part := range []string{hush, "token%3Dh", "hunt"} {
		has(t, get(t, h, "/jobs?error="+part), http.StatusOK, "No job matches")
		has(t, get(t, h, "/jobs/action?action=delete&all=1&error="+part), http.StatusOK, "No job matches")
		post(t, h, "/jobs/action", "action", "delete", "all", "1", "error", strings.ReplaceAll(part, "%3D", "="))
	}
	find(t, s, jobID(t, id)) // it is stored
}

func TestMaskNothing(t *testing.T) {
	s := memory.New()
	id := secretive(t, s).ID.String()
	h := dash.New(dash.Config{Store: s, Mask: []string{}})
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, "not •••", hush)
	h = dash.New(dash.Config{Store: s, Mask: []string{"user"}})
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, "not lovelace", hush)
}

// TestMetaOnThePage: a job's page shows its meta, masked, and jobs can be found by it.
func TestMetaOnThePage(t *testing.T) {
	s := memory.New()
	j, err := job.New("k", json.RawMessage("null"), job.Meta("tenant", "acme"), job.Meta("token", hush), job.Timeout(90*time.Second))
	if err == nil {
		_, err = job.Insert(t.Context(), s, j)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := dash.New(dash.Config{Store: s})
	id := j.ID.String()
	has(t, get(t, h, "/jobs/"+id), http.StatusOK, "tenant", "acme", "1m30s", "not "+hush)
	has(t, get(t, h, "/jobs/"+id+"/raw"), http.StatusOK, "acme", "not "+hush)
	has(t, get(t, h, "/jobs?meta=tenant%3Dacme"), http.StatusOK, id)
	has(t, get(t, h, "/jobs?meta=tenant%3Dother"), http.StatusOK, "not "+id)
	has(t, get(t, h, "/jobs?meta=token%3D"+hush), http.StatusBadRequest, "is masked, and cannot be searched")
}
