package logs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/retry"
)

// webhooks calls the webhooks of alerts. Each call is a job of kind http.request.
type webhooks struct {
	jobs     job.Store          // store whose workers make the calls; nil: the log server makes them itself
	local    job.Store          // calls that the log server makes itself; nil until there is one
	requests httprequest.Config // configuration of calls by the log server
	grace    time.Duration
	logger   *slog.Logger
	calls    chan webhookCall // calls to enqueue
}

// A webhookCall is a call for an event of an alert.
type webhookCall struct {
	alert string
	state string
	event string // unique for each event of an alert, so that it is enqueued once
	args  httprequest.Args
}

const (
	mostCalls      = 256 // calls that wait to be enqueued
	callAttempts   = 12  // over about half an hour
	callsAtOnce    = 4   // concurrent calls by the log server
	callsKept      = time.Hour
	enqueueRetries = 20
	lastCalls      = 5 * time.Second // for enqueueing the rest when the log server has ended
)

var errNoWorker = errors.New("the log server, which would make the call, has ended")

func newWebhooks(requests httprequest.Config, grace time.Duration, logger *slog.Logger) *webhooks {
	return &webhooks{requests: requests, grace: grace, logger: logger, calls: make(chan webhookCall, mostCalls)}
}

// of returns the alerts for a server, with functions that call their webhooks.
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

// webhookBody is the body of a call. The guide shows it.
type webhookBody struct {
	Text    string    `json:"text"` // shown by chat systems
	Alert   string    `json:"alert"`
	State   string    `json:"state"`
	Time    time.Time `json:"time"`
	Since   time.Time `json:"since"`
	Records int64     `json:"records"`
	Count   int       `json:"count"`
	Window  string    `json:"window"`
	Filter  string    `json:"filter"`
}

// bodyOf returns the body of the call for an event.
func bodyOf(e server.AlertEvent) webhookBody {
	a := e.Alert
	return webhookBody{
		Text: e.String(), Alert: a.Name, State: e.State(), Time: e.Time.UTC(), Since: e.Since.UTC(),
		Records: e.Records, Count: a.Count, Window: a.Window.String(), Filter: a.Filter.String(),
	}
}

// call calls a URL in the background. It does not block.
func (w *webhooks) call(url string, e server.AlertEvent) {
	a := e.Alert
	body, err := json.Marshal(bodyOf(e))
	if err != nil {
		w.logger.Error("logs: the webhook of an alert is not called", "alert", a.Name, "error", err)
		return
	}
	c := webhookCall{
		alert: a.Name, state: e.State(), event: a.Name + " " + e.State() + " " + e.Time.UTC().Format(time.RFC3339Nano),
		args: httprequest.Args{Method: "POST", URL: url, JSON: body, Sign: true},
	}
	w.add(c)
}

// add adds a call to those that wait to be enqueued.
func (w *webhooks) add(c webhookCall) {
	select {
	case w.calls <- c:
	default:
		w.logger.Error("logs: the webhook of an alert is not called: too many calls are waiting", "alert", c.alert, "state", c.state, "waiting", mostCalls)
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
				w.local = jobs
				meanwhile.Go(ctx, w.worker(jobs).Run, meanwhile.InBackground(), meanwhile.Name("worker"))
			}
			if err := w.enqueue(ctx, jobs, c); err != nil && ctx.Err() != nil {
				w.add(c) // for finish
			} else if err != nil {
				w.lost(c, err)
			}
		}
	}
}

// finish enqueues the calls that are left when the server and run have ended. Those that nobody would make any more are logged, also
// those that have failed and would be retried.
func (w *webhooks) finish(ctx context.Context) {
	_ = meanwhile.Shield(ctx, lastCalls, func(ctx context.Context) error {
		for {
			select {
			case c := <-w.calls:
				err := errNoWorker
				if w.jobs != nil {
					err = w.enqueue(ctx, w.jobs, c)
				}
				if err != nil {
					w.lost(c, err)
				}
			default:
				return w.unfinished(ctx)
			}
		}
	}, meanwhile.Timeout(lastCalls), meanwhile.Name("last webhooks"))
}

// unfinished logs the calls that the log server would still have made.
func (w *webhooks) unfinished(ctx context.Context) error {
	if w.local == nil {
		return nil
	}
	for j, err := range job.List(ctx, w.local, job.Filter{States: []job.State{job.Queued, job.Running}}) {
		if err != nil {
			return err
		}
		w.logger.Error("logs: the webhook of an alert is not called: the log server has ended before it was accepted", "alert", j.Meta["webhook.alert"], "attempts", j.Attempt)
	}
	w.local = nil
	return nil
}

func (w *webhooks) lost(c webhookCall, err error) {
	w.logger.Error("logs: the webhook of an alert is not called: its job was not enqueued", "alert", c.alert, "error", err)
}

// worker returns a worker that makes the calls if no other worker does.
func (w *webhooks) worker(jobs job.Store) *job.Worker {
	return job.NewWorker(jobs, job.Config{
		Concurrency: callsAtOnce, Grace: w.grace, Logger: w.logger,
		Retention: map[job.State]time.Duration{job.Completed: callsKept, job.Canceled: callsKept, job.Discarded: callsKept},
	}, httprequest.Handler(w.requests))
}

// enqueue enqueues the job of a call. It retries if the store does not answer for a while.
func (w *webhooks) enqueue(ctx context.Context, jobs job.Store, c webhookCall) error {
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		_, err := httprequest.Kind.Enqueue(ctx, jobs, c.args, job.MaxAttempts(callAttempts), job.Meta("webhook.alert", c.alert),
			job.Unique(c.event), job.UniqueFor(callsKept))
		return err
	}, meanwhile.Name("enqueue"), meanwhile.Retry(retry.Policy{Attempts: enqueueRetries, Timeout: 10 * time.Second}))
}
