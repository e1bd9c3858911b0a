package dash

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostSampled  = 500 // jobs whose failures are grouped
	mostGroups   = 50  // groups that are shown
	mostFailure  = 300 // bytes of an error that identify its group
	sparkMinutes = 2   // minutes of a bar
)

// failures is the page with failures: jobs that have failed and not completed, grouped by kind and error.
type failures struct {
	Groups  []failureGroup
	Left    int       // groups that are not shown
	Sampled int       // jobs
	Back    time.Time // when the oldest of them was created; zero if all jobs were read
	Late    bool      // there was no time to read them
	Kind    string    // the only kind that is shown; "" is all
	Since   time.Time // start of the first bar
}

// A failureGroup is a group of jobs of a kind whose last failures are similar.
type failureGroup struct {
	Kind, Error         string
	Retrying, Discarded int
	First, Last         time.Time // similar failures of these jobs
	Newest              job.ID
	Stack               string // of the newest job
	Share               string // of the kind's attempts in the last hour that failed
	Attempts            int64
	Bars                []bar
	Most                int    // failures of the largest bar
	Jobs, Retry         string // addresses; Retry is "" if no part of the error distinguishes its jobs from others

	minutes [hour / sparkMinutes]int
}

// N is the number of jobs in the group.
func (g *failureGroup) N() int { return g.Retrying + g.Discarded }

func (h *handler) failures(ctx context.Context, v *view) (*page, error) {
	kind := strings.TrimSpace(v.Query.Get("kind"))
	var found *failures
	err := beside(ctx, func(ctx context.Context) (err error) {
		found, err = h.failed.get(kind, func() (*failures, error) { return h.findFailures(ctx, kind) })
		return err
	}, h.cache.past.fill)
	if err != nil {
		return nil, err
	}
	past, err := h.cache.past.get(ctx)
	if err != nil {
		return nil, err
	}
	shown := *found
	shown.Groups = slices.Clone(found.Groups)
	for i := range shown.Groups {
		g := &shown.Groups[i]
		if all := past.attempts(0, hour, subject{kind: g.Kind}); all.Failed > 0 {
			g.Attempts = all.Completed + all.Failed
			g.Share = percent(all.Failed, g.Attempts)
		}
		if g.Jobs = v.URL(g.jobsURL()); literal(g.Error) != "" { // else all failed jobs of the kind would be found
			g.Retry = v.URL(g.actionURL("retry", v.Here()))
		}
	}
	return &page{Title: "Failures", Section: "failures", Data: &shown}, nil
}

// search returns the fields of a search for the jobs of a group, as exactly as a part of their error identifies them.
func (g *failureGroup) search() []string {
	pairs := []string{"kind", g.Kind, "state", string(job.Retrying), "state", string(job.Discarded)}
	if part := literal(g.Error); part != "" {
		pairs = append(pairs, "error", part)
	}
	return pairs
}

func (g *failureGroup) jobsURL() string { return jobsURL(g.search()...) }

func (g *failureGroup) actionURL(name, back string) string {
	_, query, _ := strings.Cut(jobsURL(append(g.search(), "action", name, "all", "1", "back", back)...), "?")
	return "/jobs/action?" + query
}

// findFailures groups the newest jobs that have failed.
func (h *handler) findFailures(ctx context.Context, kind string) (*failures, error) {
	limited, cancel := context.WithTimeoutCause(ctx, mostSearch, errLate)
	defer cancel()
	filter := job.Filter{States: []job.State{job.Retrying, job.Discarded}, Limit: mostSampled}
	if kind != "" {
		filter.Kinds = []string{kind}
	}
	f := &failures{Kind: kind, Since: time.Now().Add(-hour * time.Minute)}
	groups := map[[2]string]*failureGroup{}
	jobs, err := h.Store.List(limited, filter) // a single List, since a store may sort many jobs for each call
	switch {
	case err != nil && errors.Is(context.Cause(limited), errLate):
		f.Late = true
	case err != nil:
		return nil, err
	}
	for _, j := range jobs {
		f.Sampled++
		f.Back = j.Created
		h.addFailure(groups, j, f.Since)
	}
	if f.Sampled < mostSampled && !f.Late {
		f.Back = time.Time{}
	}
	for _, g := range groups {
		g.draw()
		f.Groups = append(f.Groups, *g)
	}
	slices.SortFunc(f.Groups, func(a, b failureGroup) int {
		return cmp.Or(cmp.Compare(b.N(), a.N()), b.Last.Compare(a.Last), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Error, b.Error))
	})
	if f.Left = len(f.Groups) - mostGroups; f.Left > 0 {
		f.Groups = f.Groups[:mostGroups]
	} else {
		f.Left = 0
	}
	for i := range f.Groups { // only those that are shown, since stacks are long
		f.Groups[i].Stack = h.masker.Text(f.Groups[i].Stack)
	}
	return f, nil
}

// addFailure adds a job to the group of its last failure. Jobs come newest first.
func (h *handler) addFailure(groups map[[2]string]*failureGroup, j *job.Job, since time.Time) {
	if len(j.Failures) == 0 {
		return
	}
	last := &j.Failures[len(j.Failures)-1]
	alike := h.alike(last)
	g := groups[[2]string{j.Kind, alike}]
	if g == nil {
		g = &failureGroup{Kind: j.Kind, Error: alike}
		groups[[2]string{j.Kind, alike}] = g
	}
	if j.State == job.Discarded {
		g.Discarded++
	} else {
		g.Retrying++
	}
	if last.Time.After(g.Last) {
		g.Last, g.Newest, g.Stack = last.Time, j.ID, last.Stack
	}
	for i := range j.Failures {
		failure := &j.Failures[i]
		if failure != last && h.alike(failure) != alike {
			continue
		}
		if g.First.IsZero() || failure.Time.Before(g.First) {
			g.First = failure.Time
		}
		if at := int(failure.Time.Sub(since) / (sparkMinutes * time.Minute)); failure.Time.After(since) {
			g.minutes[min(at, len(g.minutes)-1)]++
		}
	}
}

// percent formats a part of all in whole percent; a part above zero is never shown as 0 %.
func percent(part, all int64) string {
	if part*100 < all {
		return "< 1 %"
	}
	return strconv.FormatInt(part*100/all, 10) + " %"
}

// alike returns what the failures of a group have in common: the first line of the error, without IDs.
func (h *handler) alike(f *job.Failure) string {
	line, _, _ := strings.Cut(strings.TrimSpace(f.Error), "\n")
	return withoutIDs(clip(h.masker.Text(line), mostFailure))
}

func (g *failureGroup) draw() {
	g.Most = slices.Max(g.minutes[:])
	for i, n := range g.minutes {
		if n > 0 {
			height := max(n*chartHeight/g.Most, 4)
			g.Bars = append(g.Bars, bar{X: i * chartStep, Y: chartHeight - height, Height: height})
		}
	}
}
