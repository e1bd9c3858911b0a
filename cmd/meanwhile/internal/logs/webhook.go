package logs

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/retry"
)

// webhooks calls those of alerts. Each call is a job of kind http.request.
type webhooks struct {
	jobs     job.Store          // whose workers make the calls; nil: the log server makes them itself
	requests httprequest.Config // what it may do then
	grace    time.Duration
	logger   *slog.Logger
	calls    chan webhookCall // that are to be enqueued
}

// A webhookCall is one that an alert asks for.
type webhookCall struct {
	alert string
	event string // unique for each event of an alert, so that it is enqueued once
	args  httprequest.Args
}

const (
	mostCalls      = 256 // that wait to be enqueued
	callAttempts   = 12  // which take about half an hour
	callsAtOnce    = 4   // by the log server
	callsKept      = time.Hour
	enqueueRetries = 20
)

func newWebhooks(requests httprequest.Config, grace time.Duration, logger *slog.Logger) *webhooks {
	return &webhooks{requests: requests, grace: grace, logger: logger, calls: make(chan webhookCall, mostCalls)}
}

// of returns alerts as a server takes them, which have their webhooks called.
func (w *webhooks) of(settings []alertSetting) []server.Alert {
	alerts := make([]server.Alert, len(settings))
	for i, a := range settings {
		if a.webhook != "" {
			a.Notify = func(e server.AlertEvent) { w.call(a.webhook, e) }
		}
		alerts[i] = a.Alert
	}
	return alerts
}

// webhookBody is what a call brings. The guide has it.
type webhookBody struct {
	Text    string    `json:"text"` // as chat systems show it
	Alert   string    `json:"alert"`
	State   string    `json:"state"`
	Time    time.Time `json:"time"`
	Since   time.Time `json:"since"`
	Records int64     `json:"records"`
	Count   int       `json:"count"`
	Window  string    `json:"window"`
	Filter  string    `json:"filter"`
}

// bodyOf returns what a call about an event brings.
func bodyOf(e server.AlertEvent) webhookBody {
	a := e.Alert
	return webhookBody{
		Text: e.String(), Alert: a.Name, State: e.State(), Time: e.Time.UTC(), Since: e.Since.UTC(),
		Records: e.Records, Count: a.Count, Window: a.Window.String(), Filter: a.Filter.String(),
	}
}

// call has a URL called, soon. It does not block.
func (w *webhooks) call(url string, e server.AlertEvent) {
	a := e.Alert
	body, err := json.Marshal(bodyOf(e))
	if err != nil {
		w.logger.Error("logs: the webhook of an alert is not called", "alert", a.Name, "error", err)
		return
	}
	c := webhookCall{
		alert: a.Name, event: a.Name + " " + e.State() + " " + e.Time.UTC().Format(time.RFC3339Nano),
		args: httprequest.Args{Method: "POST", URL: url, JSON: body, Sign: true},
	}
	select {
	case w.calls <- c:
	default:
		w.logger.Error("logs: the webhook of an alert is not called: too many calls wait", "alert", a.Name, "state", e.State(), "waiting", mostCalls)
	}
}

// run enqueues calls until ctx is canceled.
func (w *webhooks) run(ctx context.Context) error {
	jobs := w.jobs
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-w.calls:
			if jobs == nil {
				jobs = memory.New()
				meanwhile.Go(ctx, w.worker(jobs).Run, meanwhile.InBackground(), meanwhile.Name("worker"))
			}
			if err := w.enqueue(ctx, jobs, c); err != nil {
				w.logger.Error("logs: the webhook of an alert is not called: its job was not enqueued", "alert", c.alert, "error", err)
			}
		}
	}
}

// worker returns what makes the calls where no other worker does.
func (w *webhooks) worker(jobs job.Store) *job.Worker {
	return job.NewWorker(jobs, job.Config{
		Concurrency: callsAtOnce, Grace: w.grace, Logger: w.logger,
		Retention: map[job.State]time.Duration{job.Completed: callsKept, job.Canceled: callsKept, job.Discarded: callsKept},
	}, httprequest.Handler(w.requests))
}

// enqueue enqueues the job of a call, also when the store does not answer for a while.
func (w *webhooks) enqueue(ctx context.Context, jobs job.Store, c webhookCall) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		_, err := httprequest.Kind.Enqueue(ctx, jobs, c.args, job.MaxAttempts(callAttempts), job.Meta("webhook.alert", c.alert),
			job.Unique(c.event), job.UniqueFor(callsKept))
		return err
	}, meanwhile.Name("enqueue"), meanwhile.Retry(retry.Policy{Attempts: enqueueRetries, Timeout: 10 * time.Second}))
}
