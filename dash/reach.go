package dash

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A reach is how far back charts show what was done.
type reach struct {
	Name string // in addresses
	Text string // "24 hours"
	Per  string // a step, "half hour"
	step time.Duration
	n    int // steps
}

// reaches are those that a page offers; the first is that of a page that says none. The steps of the others are multiples of job.StatsSpan.
var reaches = []reach{
	{"1h", "1 hour", "minute", time.Minute, hour},
	{"24h", "24 hours", "half hour", job.StatsSpan, 48},
	{"7d", "7 days", "3 hours", 3 * time.Hour, 56},
}

// pastFresh is for how long one of the longer pasts is shown: to read it costs more than to read an hour.
const pastFresh = 20 * time.Second

// Last is the time in a sentence, "hour" or "24 hours".
func (r reach) Last() string { return strings.TrimPrefix(r.Text, "1 ") }

// Clock shows when a step began.
func (r reach) Clock(t time.Time) string {
	switch {
	case r.step >= time.Hour:
		return t.UTC().Format("Mon 2 Jan 15:04")
	case r.step > time.Minute:
		return t.UTC().Format("Mon 15:04")
	}
	return t.UTC().Format("15:04")
}

// readReach returns the past that a page of a queue or a kind asks for.
func (h *handler) readReach(ctx context.Context, v *view, s subject) (*past, error) {
	name := v.Query.Get("range")
	if name == "" || name == reaches[0].Name {
		return h.cache.past.get(ctx)
	}
	i := slices.IndexFunc(reaches, func(r reach) bool { return r.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusBadRequest, "Range: %.40q is none of 1h, 24h and 7d.", name)
	}
	return h.pasts.get(name+s.url(), func() (*past, error) { return readPast(ctx, h.Store, reaches[i], s) })
}

// readPast reads what was done of a subject, in the steps of a reach, and keeps it as that of the subject alone: a week of many kinds would take
// megabytes.
func readPast(ctx context.Context, store job.Store, r reach, s subject) (*past, error) {
	p := &past{reach: r, end: time.Now().UTC().Truncate(r.step), minutes: map[time.Time]*minute{}}
	since, _ := p.at(0)
	stats, err := store.Stats(ctx, job.StatsFilter{Since: since, Queue: s.queue, Kind: s.kind})
	if err != nil {
		return nil, err
	}
	for i := range stats {
		row := &stats[i]
		at := row.Minute.UTC().Truncate(r.step)
		if at.After(p.end) { // the store's clock is ahead
			at = p.end
		}
		row.Queue, row.Kind = s.queue, s.kind
		addTo(p.minutes, at, row)
	}
	for _, m := range p.minutes {
		m.addUp()
	}
	return p, nil
}

// A reachLink leads to the same page with another reach.
type reachLink struct {
	reach
	URL string
	On  bool
}

// reachLinks are the links of a page.
func reachLinks(v *view, on reach) []reachLink {
	links := make([]reachLink, len(reaches))
	for i, r := range reaches {
		change := map[string][]string{"range": {r.Name}}
		if i == 0 {
			change["range"] = nil
		}
		links[i] = reachLink{r, v.URL(withQuery(v.Here(), change)), r.Name == on.Name}
	}
	return links
}
