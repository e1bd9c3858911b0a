package api_test

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestMetaAndTimeout: both are accepted and shown, and jobs can be found by their meta, except by masked values.
func TestMetaAndTimeout(t *testing.T) {
	h := api.New(api.Config{Store: memory.New()})
	one := read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","timeout":"90s","meta":{"tenant":"7","api_key":"hunter2"}}`), 201)
	read[enqueued](t, ask(h, "POST", "/jobs", `{"kind":"k","meta":{"tenant":"77"}}`), 201)
	answer := ask(h, "GET", "/jobs?meta=tenant%3D7", "")
	got := read[page](t, answer, 200)
	if len(got.Jobs) != 1 || got.Jobs[0].ID != one.ID || !strings.Contains(answer.Body.String(), `"timeout":90`) || !strings.Contains(answer.Body.String(), `"tenant":"7"`) {
		t.Errorf("got %s", answer.Body)
	}
	if strings.Contains(answer.Body.String(), "hunter2") {
		t.Errorf("the secret is shown: %s", answer.Body)
	}
	for query, status := range map[string]int{
		"meta=api_key%3Dhunter2": 422, "meta=tenant": 422, "meta=tenant%3D7&meta=tenant%3D8": 422, "meta=tenant%3D7&meta=team%3Da": 200,
	} {
		if w := ask(h, "GET", "/jobs?"+query, ""); w.Code != status {
			t.Errorf("?%s: %d %s, want %d", query, w.Code, w.Body, status)
		}
	}
	if w := ask(h, "POST", "/jobs", `{"kind":"k","timeout":0}`); w.Code != 422 || !strings.Contains(w.Body.String(), "give a positive duration") {
		t.Errorf("a timeout of 0: %d %s", w.Code, w.Body)
	}
}
