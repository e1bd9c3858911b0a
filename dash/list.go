package dash

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// mostSearch is how long a page searches for what it shows.
const mostSearch = 3 * time.Second

// mostOffered is how many kinds, and how many queues, the fields of a search offer for selection.
const mostOffered = 500

// A listing is the page with the list of jobs.
type listing struct {
	*search
	Rows    []row
	Total   int64 // how many match
	Known   bool  // Total is known
	Scan    searchProgress
	Wrong   string
	Tabs    []stateLink
	Columns []column
	Kinds   []string // that the search offers
	Queues  []string
	Older   string // the address of the next page, if there is one
	Newest  string
}

// A row is a job in the list.
type row struct {
	*job.Job
	View  job.State
	Error string
}

// When returns the most relevant time of a job: when it is due, started or finished.
func (r row) When() time.Time {
	switch {
	case !r.Finished.IsZero():
		return r.Finished
	case r.State == job.Running:
		return r.Started
	}
	return r.RunAt
}

// Took returns how long the last attempt of a finished job took.
func (r row) Took() time.Duration {
	if r.Finished.IsZero() || r.Started.IsZero() {
		return 0
	}
	return r.Finished.Sub(r.Started)
}

// A stateLink restricts the search to a state, or removes that restriction.
type stateLink struct {
	Name job.State // "" for all states
	On   bool
	URL  string
	N    int64
	Many bool // N is known
}

// A column is a column head of the list.
type column struct {
	Name, Title string
	URL         string // that sorts by it
	Order       string // as in aria-sort
}

var sortColumns = []string{"kind", "state", "queue", "attempt", "when", "took"}

func (h *handler) jobs(ctx context.Context, v *view) (*page, error) {
	l := &listing{}
	p := &page{Title: "Jobs", Section: "jobs", Data: l}
	var err error
	l.search, err = h.readSearch(v.Query, time.Now())
	if wrong, ok := errors.AsType[*refusal](err); ok {
		l.Wrong, p.status, p.frozen = wrong.reason, wrong.status, true
	} else if err != nil {
		return nil, err
	}
	var found []*job.Job
	if l.Wrong == "" {
		if found, err = h.findListed(ctx, l, v.Live); err != nil {
			return nil, err
		}
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	l.fill(v, counts)
	if len(found) > pageSize {
		found = found[:pageSize]
		l.Older = v.URL(l.with(func(s *search) { s.Before = found[pageSize-1].ID.String() }))
	}
	now := time.Now()
	for _, j := range found {
		l.Rows = append(l.Rows, row{Job: j, View: j.View(now), Error: h.masker.Text(j.LastError())})
	}
	sortRows(l.Rows, l.Sort)
	return p, nil
}

// findListed returns the jobs of a list, with one more if there are older ones, and reads the counts concurrently.
func (h *handler) findListed(ctx context.Context, l *listing, live bool) (found []*job.Job, err error) {
	f := l.filter
	f.Limit = pageSize + 1
	err = beside(ctx, func(ctx context.Context) (err error) {
		if l.Scans() {
			l.Scan, err = h.continueSearch(ctx, l.search, f, live)
			found = l.Scan.Jobs
			return err
		}
		if found, err = h.find(ctx, f); errors.Is(err, errLate) {
			l.Scan.Late, err = true, nil
		}
		return err
	}, h.cache.counts.fill)
	return found, err
}

var errLate = errors.New("the search took too long")

// find returns the matching jobs, or together with errLate those that were found in time.
func (h *handler) find(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	limited, cancel := context.WithTimeoutCause(ctx, mostSearch, errLate)
	defer cancel()
	var found []*job.Job
	for j, err := range h.list(limited, f) {
		switch {
		case err != nil && errors.Is(context.Cause(limited), errLate):
			return found, errLate
		case err != nil:
			return nil, err
		}
		found = append(found, j)
	}
	return found, nil
}

// list yields the matching jobs. The part of an error in the filter must occur in an error as it is shown: jobs cannot be found by masked values.
func (h *handler) list(ctx context.Context, f job.Filter) meanwhile.Stream[*job.Job] {
	return h.listOf(ctx, h.Store, f)
}

// listOf is list for another store than that of the dashboard.
func (h *handler) listOf(ctx context.Context, s job.Store, f job.Filter) meanwhile.Stream[*job.Job] {
	if f.Error == "" {
		return job.List(ctx, s, f)
	}
	return func(yield func(*job.Job, error) bool) {
		all, left, part := f, f.Limit, strings.ToLower(f.Error)
		all.Limit = 0
		for j, err := range job.List(ctx, s, all) {
			if err == nil && !slices.ContainsFunc(j.Failures, func(f job.Failure) bool {
				return strings.Contains(strings.ToLower(h.masker.Text(f.Error)), part)
			}) {
				continue
			}
			if left--; !yield(j, err) || left == 0 {
				return
			}
		}
	}
}

// fill sets everything but the rows.
func (l *listing) fill(v *view, counts []job.Count) {
	l.Total, l.Known = l.known(counts)
	if l.Before != "" {
		l.Newest = v.URL(l.with(func(*search) {}))
	}
	for _, c := range counts {
		l.Kinds, l.Queues = append(l.Kinds, c.Kind), append(l.Queues, c.Queue)
	}
	l.Kinds, l.Queues = distinct(l.Kinds), distinct(l.Queues)
	l.Kinds, l.Queues = l.Kinds[:min(len(l.Kinds), mostOffered)], l.Queues[:min(len(l.Queues), mostOffered)]
	all := stateLink{On: len(l.States) == 0, URL: v.URL(l.with(func(s *search) { s.States = nil }))}
	all.N, all.Many = l.inState(counts)
	l.Tabs = []stateLink{all}
	for _, state := range states {
		link := stateLink{Name: state, On: slices.Contains(l.States, state)}
		link.N, link.Many = l.inState(counts, state)
		link.URL = v.URL(l.with(func(s *search) {
			if s.States = nil; !link.On {
				s.States = []job.State{state}
			}
		}))
		l.Tabs = append(l.Tabs, link)
	}
	for _, c := range []column{
		{Name: "state", Title: "State"},
		{Name: "kind", Title: "Kind"},
		{Name: "queue", Title: "Queue"},
		{Name: "attempt", Title: "Attempt"},
		{Name: "when", Title: "When"},
		{Name: "took", Title: "Took"},
	} {
		next := c.Name
		switch l.Sort {
		case c.Name:
			c.Order, next = "ascending", "-"+c.Name
		case "-" + c.Name:
			c.Order, next = "descending", ""
		}
		other := *l.search // of the same page
		other.Sort = next
		c.URL = v.URL(other.link())
		l.Columns = append(l.Columns, c)
	}
}

// inState returns how many jobs would match with these states instead.
func (l *listing) inState(counts []job.Count, states ...job.State) (int64, bool) {
	other := *l.search
	other.filter.States = states
	return other.known(counts)
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// sortRows sorts a page by a column.
func sortRows(rows []row, by string) {
	name, down := strings.CutPrefix(by, "-")
	var compare func(a, b row) int
	switch name {
	case "kind":
		compare = func(a, b row) int { return cmp.Compare(a.Kind, b.Kind) }
	case "state":
		compare = func(a, b row) int { return cmp.Compare(slices.Index(states, a.View), slices.Index(states, b.View)) }
	case "queue":
		compare = func(a, b row) int { return cmp.Compare(a.Queue, b.Queue) }
	case "attempt":
		compare = func(a, b row) int { return cmp.Compare(a.Used(), b.Used()) }
	case "when":
		compare = func(a, b row) int { return a.When().Compare(b.When()) }
	case "took":
		compare = func(a, b row) int { return cmp.Compare(a.Took(), b.Took()) }
	default:
		return
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if down {
			return compare(b, a)
		}
		return compare(a, b)
	})
}

// raw loads the JSON of a job.
func (h *handler) raw(ctx context.Context, v *view) (*page, error) {
	j, err := h.findJob(ctx, v.path["id"])
	if err != nil {
		return nil, err
	}
	text, err := h.maskedJSON(j)
	return &page{raw: text}, err
}

func (h *handler) findJob(ctx context.Context, text string) (*job.Job, error) {
	id, err := job.ParseID(text)
	if err != nil {
		return nil, refuse(http.StatusNotFound, "%v.", err)
	}
	return job.Find(ctx, h.Store, id)
}

// jobsURL returns the address of a search for jobs, by pairs of a field and its value.
func jobsURL(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return "/jobs?" + q.Encode()
}
