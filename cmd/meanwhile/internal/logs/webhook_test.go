package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

func alertEvent(t *testing.T) server.AlertEvent {
	t.Helper()
	filter, err := filter.Parse("level>=error")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := &server.Alert{Name: "errors", Filter: filter, Count: 20, Window: 5 * time.Minute}
	return server.AlertEvent{Alert: a, Firing: true, Time: at, Since: at, Records: 21}
}

// TestWebhookIsAJob: a webhook call is a job that is enqueued once, even if the store does not answer for a while, or its answer is lost.
func TestWebhookIsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		store := jobtest.Faulty(kept, func(c jobtest.Call) jobtest.Fault {
			switch {
			case c.Method == "Insert" && c.N < 5:
				return jobtest.Fault{Before: errors.New("not there")}
			case c.Method == "Insert" && c.N == 5:
				return jobtest.Fault{After: errors.New("gone")}
			}
			return jobtest.Fault{}
		})
		w := newWebhooks(httprequest.Config{}, time.Second, slog.New(slog.DiscardHandler))
		w.jobs = store
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			meanwhile.Go(ctx, w.run, meanwhile.InBackground())
			w.call("https://example.com/alerts?secret", alertEvent(t))
			_ = meanwhile.Sleep(ctx, time.Hour)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := meanwhile.Collect(job.List(t.Context(), kept, job.Filter{}))
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%d jobs are enqueued, %v, want 1", len(jobs), err)
		}
		j := jobs[0]
		const body = `{"text":"alert errors fires: 21 records of level\u003e=error within 5m0s","alert":"errors","state":"firing","time":"2026-01-02T03:04:05Z",` +
			`"since":"2026-01-02T03:04:05Z","records":21,"count":20,"window":"5m0s","filter":"level\u003e=error"}`
		want := `{"method":"POST","url":"https://example.com/alerts?secret","json":` + body + `,"sign":true}`
		if string(j.Args) != want || j.MaxAttempts != callAttempts || j.Meta["webhook.alert"] != "errors" {
			t.Errorf("got %d attempts, meta %v and the args\n%s\nwant\n%s", j.MaxAttempts, j.Meta, j.Args, want)
		}
	})
}

// TestWebhookOfTheGuide: the guide shows the body of a call.
func TestWebhookOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "```text\n{")
	block, _, _ := strings.Cut("{"+rest, "```")
	decoder := json.NewDecoder(strings.NewReader(block))
	decoder.DisallowUnknownFields()
	var got webhookBody
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%s: %v", block, err)
	}
	e := alertEvent(t)
	e.Time, e.Since = got.Time, got.Since
	if want := bodyOf(e); got != want {
		t.Errorf("the guide has\n%+v\nwant\n%+v", got, want)
	}
}

// TestWebhooksAreBounded: while calls cannot be enqueued, a limited number of them wait, and the rest is logged.
func TestWebhooksAreBounded(t *testing.T) {
	var said strings.Builder
	w := newWebhooks(httprequest.Config{}, time.Second, slog.New(slog.NewTextHandler(&said, nil)))
	for range mostCalls {
		w.call("https://example.com", alertEvent(t))
	}
	if said.Len() > 0 {
		t.Error(said.String())
	}
	w.call("https://example.com", alertEvent(t))
	if want := fmt.Sprintf("too many calls are waiting\" alert=errors state=firing waiting=%d", mostCalls); !strings.Contains(said.String(), want) {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}
