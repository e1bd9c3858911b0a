package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// TestMetricsOfPrograms: attempts of worker programs are in the metrics of the server, as those of its own worker are.
func TestMetricsOfPrograms(t *testing.T) {
	store := memory.New()
	defer store.Close()
	p := &plan{Command: &Command{}, logger: slog.New(slog.DiscardHandler), requests: metrics.NewHTTP(partOf)}
	guard, err := access.New(access.Config{Logger: p.logger})
	if err != nil {
		t.Fatal(err)
	}
	parts, _, stop := p.parts(store, nil, metrics.New(metrics.Config{Store: store}))
	defer stop()
	handler := guard.Wrap(parts)
	ask := func(method, path, body string) []byte {
		t.Helper()
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	for range 2 {
		ask("POST", "/api/v1/jobs", `{"kind":"mail"}`)
	}
	var got struct {
		Session string
		Jobs    []struct{ ID string }
	}
	if err := json.Unmarshal(ask("POST", "/api/v1/worker/claim", `{"worker":"w","queues":["default"],"limit":2}`), &got); err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	for i, outcome := range []string{`"completed"`, `"discarded","error":{"message":"no"}`} {
		ask("POST", "/api/v1/worker/finish", fmt.Sprintf(`{"ends":[{"session":%q,"id":%q,"attempt":1,"outcome":%s}]}`, got.Session, got.Jobs[i].ID, outcome))
	}
	text := string(ask("GET", "/metrics", ""))
	for _, want := range []string{
		`meanwhile_attempts_total{kind="mail",outcome="completed",queue="default"} 1`,
		`meanwhile_attempts_total{kind="mail",outcome="discarded",queue="default"} 1`,
		`meanwhile_job_wait_seconds_count{kind="mail",queue="default"} 2`,
		`meanwhile_job_run_seconds_count{kind="mail",queue="default"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}
