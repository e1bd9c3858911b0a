package api

import (
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A shownJob is a job in JSON: with its view, durations in seconds, and secrets masked.
type shownJob struct {
	*job.Job
	View      job.State `json:"view"`
	UniqueFor float64   `json:"unique_for,omitempty"`
	Timeout   float64   `json:"timeout,omitempty"`
	Why       string    `json:"why,omitempty"` // why it does not run
}

// shown returns a job to show. It shares parts of j.
func (a *API) shown(j *job.Job, now time.Time) shownJob {
	c := *j
	c.Args, c.Result = a.mask.JSON(j.Args), a.mask.JSON(j.Result)
	c.Meta = a.mask.Map(j.Meta)
	c.Failures = slices.Clone(j.Failures)
	for i := range c.Failures {
		f := &c.Failures[i]
		f.Error, f.Stack = a.mask.Text(f.Error), a.mask.Text(f.Stack)
	}
	c.Records = slices.Clone(j.Records)
	for i := range c.Records {
		r := &c.Records[i]
		r.Message, r.Attrs = a.mask.Text(r.Message), a.mask.Text(r.Attrs)
	}
	return shownJob{Job: &c, View: j.View(now), UniqueFor: j.UniqueFor.Seconds(), Timeout: j.Timeout.Seconds()}
}
