package dash

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A reach is the period that charts show.
type reach struct {
	Name string // in URLs
	Text string // "24 hours"
	Per  string // name of a step, such as "half hour"
	step time.Duration
	n    int // steps
}

// reaches are the periods that a page offers, the default first. The steps of the others are multiples of job.StatsSpan.
var reaches = []reach{
	{"1h", "1 hour", "minute", time.Minute, hour},
	{"24h", "24 hours", "half hour", job.StatsSpan, 48},
	{"7d", "7 days", "3 hours", 3 * time.Hour, 56},
}

// pastFresh is how long a past that is longer than an hour is cached, since reading it is more expensive.
const pastFresh = 20 * time.Second

// Last is the period in a sentence, such as "hour" or "24 hours".
func (r reach) Last() string { return strings.TrimPrefix(r.Text, "1 ") }

// Clock formats the start of a step.
func (r reach) Clock(t time.Time) string {
	switch {
	case r.step >= time.Hour:
		return t.UTC().Format("Mon 2 Jan 15:04")
	case r.step > time.Minute:
		return t.UTC().Format("Mon 15:04")
	}
	return t.UTC().Format("15:04")
}

// readReach returns the past for the range of a page of a queue or a kind.
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

// readPast reads the work of a subject in the steps of a reach, and keeps only that of the subject: a week of many kinds would need megabytes.
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
		if at.After(p.end) { // the store's clock may be ahead
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

// A reachLink links to the same page with another reach.
type reachLink struct {
	reach
	URL string
	On  bool
}

// reachLinks returns the links of a page.
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
