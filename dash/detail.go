package dash

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostShown is how many bytes of args, of a result or of a stack a page shows. The raw view shows all of them.
const mostShown = 64 << 10

// A detail is the page of a job.
type detail struct {
	*job.Job
	View     job.State
	Why      string // why it does not run, while it is queued
	Later    bool   // it waits until it is due, which the page shows as a countdown
	Actions  []action
	Args     string // masked, indented
	Result   string
	Failures []job.Failure // the newest first, masked
	Records  []job.Record
	Timeline timeline
	Tree     *tree           // while it runs, as soon as its worker has reported
	Gone     *job.WorkerInfo // while it runs, if its worker is gone
	Log      *jobLog
	Copies   []copied
	Part     int64 // completed part of the progress, in thousandths; -1 when the total is unknown
}

func (h *handler) job(ctx context.Context, v *view) (*page, error) {
	j, err := h.findJob(ctx, v.path["id"])
	if err != nil {
		return nil, err
	}
	now := time.Now()
	masked := *j
	masked.Meta = h.masker.Map(j.Meta)
	j = &masked
	d := &detail{Job: j, View: j.View(now), Timeline: newTimeline(j, now), Part: -1}
	d.Actions = actionsFor(d.View)
	d.Copies = h.copies(j)
	d.Args = clip(indented(h.masker.JSON(j.Args)), mostShown)
	if j.Result != nil {
		d.Result = clip(indented(h.masker.JSON(j.Result)), mostShown)
	}
	for i := len(j.Failures) - 1; i >= 0; i-- {
		f := j.Failures[i]
		f.Error, f.Stack = clip(h.masker.Text(f.Error), mostShown), clip(h.masker.Text(f.Stack), mostShown)
		d.Failures = append(d.Failures, f)
	}
	for i := len(j.Records) - 1; i >= 0; i-- {
		r := j.Records[i]
		r.Message, r.Attrs = h.masker.Text(r.Message), h.masker.Text(r.Attrs)
		d.Records = append(d.Records, r)
	}
	if p := j.Progress; p != nil && p.Total > 0 {
		d.Part = int64(float64(min(max(p.Done, 0), p.Total)) * 1000 / float64(p.Total)) // multiplying an int64 by 1000 could overflow
	}
	if j.State == job.Running {
		if d.Tree, err = h.watch(ctx, j.ID); err != nil {
			return nil, err
		}
		if d.Gone, err = h.goneWorker(ctx, j.Worker); err != nil {
			return nil, err
		}
	}
	if j.State == job.Queued {
		use, err := h.limitUse(ctx, j.Queue, j.LimitKey)
		if err != nil {
			return nil, err
		}
		if d.Why, err = h.why(ctx, j, use); err != nil {
			return nil, err
		}
		d.Later = strings.HasPrefix(d.Why, "due in ")
	}
	if h.Logs != nil {
		d.Log = h.jobLog(ctx, v, j, now)
	}
	return &page{Title: j.Kind + " " + short(j.ID), Section: "jobs", Data: d}, nil
}

func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// maskedJSON returns the JSON of the job as package job writes it, with secret values masked.
func (h *handler) maskedJSON(j *job.Job) ([]byte, error) {
	shown := *j
	shown.Args, shown.Meta = h.masker.JSON(j.Args), h.masker.Map(j.Meta)
	if j.Result != nil {
		shown.Result = h.masker.JSON(j.Result)
	}
	shown.Failures, shown.Records = nil, nil
	for _, f := range j.Failures {
		f.Error, f.Stack = h.masker.Text(f.Error), h.masker.Text(f.Stack)
		shown.Failures = append(shown.Failures, f)
	}
	for _, r := range j.Records {
		r.Message, r.Attrs = h.masker.Text(r.Message), h.masker.Text(r.Attrs)
		shown.Records = append(shown.Records, r)
	}
	return json.MarshalIndent(shown, "", "  ")
}
