package docs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs/remote"
)

func dashboardWithLogs(store job.Store, token string) (http.Handler, error) {
	records, err := remote.NewClient("http://127.0.0.1:6768", remote.Config{Token: token})
	if err != nil {
		return nil, err
	}
	return dash.New(dash.Config{Store: store, Logs: records}), nil
}

func TestDashboardWithLogs(t *testing.T) {
	h, err := dashboardWithLogs(memory.New(), "t0ken")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if !strings.Contains(w.Body.String(), `<a href="/logs">Logs</a>`) {
		t.Error("nothing leads to the logs")
	}
}

func TestDashboard(t *testing.T) {
	store := memory.New()
	j, err := job.New("pay", []byte(`{"iban": "DE02", "Token": "x7y", "sum": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Insert(t.Context(), store, j); err != nil {
		t.Fatal(err)
	}
	h := dash.New(dash.Config{
		Store:    store,
		Prefix:   "/jobs",
		ReadOnly: func(r *http.Request) bool { return r.Header.Get("X-Role") != "operator" },
		Mask:     append(dash.DefaultMask(), "iban", "card_number"),
	})
	for role, mayChange := range map[string]bool{"": false, "operator": true} {
		r := httptest.NewRequest("GET", "/jobs/jobs/"+j.ID.String(), nil)
		r.Header.Set("X-Role", role)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		page := w.Body.String()
		if strings.Contains(page, "DE02") || strings.Contains(page, "x7y") || !strings.Contains(page, "&#34;sum&#34;: 5") {
			t.Error("args are not masked as they should be")
		}
		if got := strings.Contains(page, `name="action"`); got != mayChange {
			t.Errorf("role %q can change jobs: %t, want %t", role, got, mayChange)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	const message = `the dashboard is mounted below "/jobs" and was asked for "/": set Prefix in dash.Config to the path it is mounted at`
	if got := strings.TrimSpace(w.Body.String()); got != message {
		t.Errorf("got %s\nwant %s", got, message)
	}
}
