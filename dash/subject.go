package dash

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostRows   = 50                  // kinds of a queue, or queues of a kind
	mostNewest = 20                  // jobs that are searched for one that is due
	mostLeft   = 30 * 24 * time.Hour // maximum time that is shown until a queue is empty
)

// A subjectPage is the page of a queue or a kind. It shows why jobs are slow.
type subjectPage struct {
	drawing
	Name    string
	Reaches []reachLink
	Parts   []subjectPart // the kinds of a queue, or the queues of a kind
	Others  int           // number of these that are not shown
	Workers []workerRow   // workers that run its jobs
	Waits   []kindRow

	// Only of a queue.
	Queue  *queueRow // nil for a kind
	Left   string    // time until it is empty
	Limits []string  // use of each limit
	Why    string    // why its newest due job does not run
	Keys   *waitingKeys
	Newest job.ID
	Own    []job.Override // the first keys with their own limits
	More   int            // number of other such keys
}

// A subjectPart is the number of jobs of one kind in one queue.
type subjectPart struct {
	Name                       string
	Queued, Running, Discarded int64
	Failed, Attempts           int64  // only of a kind: in the last hour, in all queues
	Page, Jobs                 string // addresses
}

// queue loads the page of one queue.
func (h *handler) queue(ctx context.Context, v *view) (*page, error) {
	name := v.Query.Get("name")
	if name == "" {
		return nil, noSubject("queue", name)
	}
	var rows []queueRow
	var use job.LimitUse
	var keys *waitingKeys
	err := beside(ctx, func(ctx context.Context) (err error) {
		rows, err = h.queueRows(ctx)
		return err
	}, func(ctx context.Context) (err error) {
		if use, err = h.limitUse(ctx, name, ""); err == nil {
			keys, err = h.keysOf(ctx, name, use)
		}
		return err
	}, func(ctx context.Context) error {
		_, err := h.readReach(ctx, v, subject{queue: name})
		return err
	})
	if err != nil {
		return nil, err
	}
	row := queueRow{QueueInfo: job.QueueInfo{Name: name}}
	listed := slices.IndexFunc(rows, func(q queueRow) bool { return q.Name == name })
	if listed >= 0 {
		row = rows[listed]
	}
	d := &subjectPage{Name: name, Queue: &row, Keys: keys}
	p := &page{Title: "Queue " + name, Section: "queues", Data: d}
	known, err := h.fillSubject(ctx, v, d, subject{queue: name}, level{row.Queued, row.Running})
	if err != nil {
		return nil, err
	}
	if listed < 0 && !known {
		return nil, noSubject("queue", name)
	}
	if row.Wait > 0 { // otherwise no job is due yet
		d.Left = timeLeft(row.Queued, row.Rate)
	}
	d.Limits = limitLines(use)
	if d.Own, d.More, err = h.ownLimits(ctx, name, use); err != nil {
		return nil, err
	}
	if row.Wait > 0 && d.Keys.newest != nil {
		d.Newest = d.Keys.newest.ID
		if d.Why, err = h.why(ctx, d.Keys.newest, d.Keys.newestUse); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// kind loads the page of one kind.
func (h *handler) kind(ctx context.Context, v *view) (*page, error) {
	d := &subjectPage{Name: v.Query.Get("name")}
	if d.Name == "" {
		return nil, noSubject("kind", d.Name)
	}
	known, err := h.fillSubject(ctx, v, d, subject{kind: d.Name}, level{})
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, noSubject("kind", d.Name)
	}
	return &page{Title: "Kind " + d.Name, Section: "jobs", Data: d}, nil
}

func noSubject(what, name string) error {
	return refuse(http.StatusNotFound, "There is no %s %.130q with jobs or workers.", what, name)
}

// fillSubject fills in what both pages have. It reports whether the subject has jobs or workers.
func (h *handler) fillSubject(ctx context.Context, v *view, d *subjectPage, s subject, now level) (known bool, err error) {
	if err := beside(ctx, h.cache.past.fill, h.cache.counts.fill, h.cache.workers.fill, func(ctx context.Context) error {
		_, err := h.readReach(ctx, v, s)
		return err
	}); err != nil {
		return false, err
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return false, err
	}
	workers, err := h.workerRows(ctx)
	if err != nil {
		return false, err
	}
	past, err := h.cache.past.get(ctx)
	if err != nil {
		return false, err
	}
	shown, err := h.readReach(ctx, v, s)
	if err != nil {
		return false, err
	}
	d.Reaches = reachLinks(v, shown.reach)
	d.drawing = shown.draw(s, now, past.recent(s), func(from, until time.Time, states ...job.State) string {
		pairs := []string{"since", from.Format(time.RFC3339), "until", until.Format(time.RFC3339)}
		if s.queue != "" {
			pairs = append(pairs, "queue", s.queue)
		} else {
			pairs = append(pairs, "kind", s.kind)
		}
		for _, state := range states {
			pairs = append(pairs, "state", string(state))
		}
		return v.URL(jobsURL(pairs...))
	})
	parts := subjectParts(counts, s)
	known = len(parts) > 0
	kinds := map[string]bool{s.kind: true}
	if s.kind == "" {
		for _, part := range parts {
			kinds[part.Name] = true
		}
	}
	d.Parts = parts[:min(len(parts), mostRows)]
	d.Others = len(parts) - len(d.Parts)
	for i := range d.Parts {
		d.Parts[i].fill(v, past, s)
	}
	for _, w := range workers {
		if s.queue != "" && slices.Contains(w.Queues, s.queue) || s.kind != "" && w.Handles(s.kind) {
			d.Workers = append(d.Workers, w)
		}
	}
	for _, row := range kindRows(workers) {
		if kinds[row.Kind] {
			d.Waits = append(d.Waits, row)
		}
	}
	return known || len(d.Workers) > 0, nil
}

// subjectParts adds up the counts. Parts with the most unfinished jobs come first.
func subjectParts(counts []job.Count, s subject) []subjectPart {
	parts := map[string]*subjectPart{}
	for _, c := range counts {
		name := c.Kind
		if s.kind != "" {
			name = c.Queue
		}
		if s.queue != "" && c.Queue != s.queue || s.kind != "" && c.Kind != s.kind || c.N == 0 {
			continue
		}
		p := parts[name]
		if p == nil {
			p = &subjectPart{Name: name}
			parts[name] = p
		}
		switch c.State {
		case job.Queued:
			p.Queued += c.N
		case job.Running:
			p.Running += c.N
		case job.Discarded:
			p.Discarded += c.N
		}
	}
	var rows []subjectPart
	for _, p := range parts {
		rows = append(rows, *p)
	}
	slices.SortFunc(rows, func(a, b subjectPart) int {
		return cmp.Or(cmp.Compare(b.Queued+b.Running, a.Queued+a.Running), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// fill sets the URLs of a part of s, and the results of its attempts.
func (p *subjectPart) fill(v *view, past *past, s subject) {
	if s.kind != "" {
		p.Page, p.Jobs = v.URL(subject{queue: p.Name}.url()), v.URL(jobsURL("kind", s.kind, "queue", p.Name))
		return
	}
	p.Page, p.Jobs = v.URL(subject{kind: p.Name}.url()), v.URL(jobsURL("kind", p.Name, "queue", s.queue))
	all := past.attempts(0, hour, subject{kind: p.Name})
	p.Failed, p.Attempts = all.Failed, all.Completed+all.Failed
}

// url returns the URL of the page of a queue or a kind.
func (s subject) url() string {
	if s.queue != "" {
		return "/queue?" + url.Values{"name": {s.queue}}.Encode()
	}
	return "/kind?" + url.Values{"name": {s.kind}}.Encode()
}

// timeLeft returns when a queue will be empty if jobs are completed at the current rate, and none are added.
func timeLeft(queued, rate int64) string {
	switch {
	case queued == 0:
		return ""
	case rate == 0:
		return "none was completed in the last five minutes"
	}
	left := time.Duration(float64(queued) / float64(rate) * float64(time.Minute))
	if left > mostLeft {
		return "empty in more than 30 days at this rate"
	}
	return "empty in " + span(max(left, time.Second)) + " at this rate, if none are added"
}

// limitLines describes the use of the limits of a queue.
func limitLines(use job.LimitUse) (lines []string) {
	if use.Running > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s that may run at once", number(use.QueueRunning), number(use.Running)))
	}
	if use.Starts.N > 0 {
		line := use.Starts.String() + " may start"
		if use.QueueNext > 0 {
			line += ", the next in " + span(use.QueueNext)
		}
		lines = append(lines, line)
	}
	if use.Units.N > 0 {
		line := "units: " + use.Units.String()
		if use.QueueUnits > 0 {
			line += ", the next job starts in " + span(use.QueueUnits)
		}
		lines = append(lines, line)
	}
	if use.QueueHeld > 0 {
		lines = append(lines, "throttled: starts again in "+span(use.QueueHeld))
	}
	if use.EachKey.Running > 0 {
		lines = append(lines, fmt.Sprintf("%s of each limit key may run at once", number(use.EachKey.Running)))
	}
	if use.EachKey.InOrder {
		lines = append(lines, "jobs of a limit key run in order, one at a time")
	}
	if use.EachKey.HoldOnDiscard {
		lines = append(lines, "a discarded job holds its limit key until it is retried or deleted")
	}
	if use.EachKey.Starts.N > 0 {
		lines = append(lines, use.EachKey.Starts.String()+" of each limit key may start")
	}
	if use.EachKey.Units.N > 0 {
		lines = append(lines, "units of each limit key: "+use.EachKey.Units.String())
	}
	if use.EachKey.Weight > 1 {
		lines = append(lines, fmt.Sprintf("%s of each limit key start each time it is its turn", number(use.EachKey.Weight)))
	}
	return lines
}
