package dash

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A search is a search for jobs. It is the parsed query of a URL, and nothing else.
type search struct {
	Kind, Queue  string // names, separated by spaces
	States       []job.State
	Args         string // path=value
	Error        string
	Worker       string
	Since, Until string // absolute or relative times
	Key          string // the unique key
	Meta         string // key=value
	ID           string // IDs, separated by spaces
	Before       string // the page has the jobs before this ID
	Sort         string // a column; a leading "-" sorts the largest first
	filter       job.Filter
}

// states are the states that can be searched, in the order of a job's life.
var states = job.States()

const pageSize = 50

// readSearch parses a query. Its errors say which field is invalid, and what it should look like.
func (h *handler) readSearch(q url.Values, now time.Time) (*search, error) {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	s := &search{
		Kind: text("kind"), Queue: text("queue"), Args: text("args"), Error: text("error"), Worker: q.Get("worker"),
		Since: text("since"), Until: text("until"), Key: text("key"), Meta: text("meta"), ID: text("id"), Before: text("before"), Sort: text("sort"),
	}
	for _, state := range q["state"] {
		if state := job.State(state); slices.Contains(states, state) && !slices.Contains(s.States, state) {
			s.States = append(s.States, state)
		}
	}
	if !slices.Contains(sortColumns, strings.TrimPrefix(s.Sort, "-")) {
		s.Sort = ""
	}
	return s, h.fillFilter(s, now)
}

func (h *handler) fillFilter(s *search, now time.Time) (err error) {
	f := &s.filter
	*f = job.Filter{
		Kinds: strings.Fields(s.Kind), Queues: strings.Fields(s.Queue), States: s.States, Error: s.Error, Worker: s.Worker, UniqueKey: s.Key,
	}
	wrong := func(reason string, args ...any) error { return refuse(http.StatusBadRequest, reason, args...) }
	if s.Args != "" {
		path, value, ok := strings.Cut(s.Args, "=")
		path = strings.TrimSpace(path)
		if !ok {
			return wrong("Args: write a path and a value, such as user.id=7.")
		}
		if slices.ContainsFunc(strings.Split(path, "."), h.masker.Hides) || h.masker.HidesIn(value) {
			return wrong("Args: %.60q is masked, and cannot be searched.", path)
		}
		f.Args = []job.ArgsMatch{{Path: path, Value: strings.TrimSpace(value)}}
	}
	if s.Meta != "" {
		key, value, ok := strings.Cut(s.Meta, "=")
		if !ok || key == "" {
			return wrong("Meta: write a key and a value, such as tenant=7.")
		}
		if h.masker.Hides(key) {
			return wrong("Meta: %.60q is masked, and cannot be searched.", key)
		}
		f.Meta = map[string]string{key: value}
	}
	if f.CreatedAfter, err = readTime(s.Since, now); err != nil {
		return wrong("Since: %v", err)
	}
	if f.CreatedBefore, err = readTime(s.Until, now); err != nil {
		return wrong("Until: %v", err)
	}
	for _, text := range strings.FieldsFunc(s.ID, func(r rune) bool { return r == ' ' || r == ',' }) {
		id, err := job.ParseID(text)
		if err != nil {
			return wrong("ID: %v.", err)
		}
		f.IDs = append(f.IDs, id)
	}
	if len(f.IDs) > mostSelected {
		return wrong("ID: %d are more than %d.", len(f.IDs), mostSelected)
	}
	if s.Before != "" {
		if f.Before, err = job.ParseID(s.Before); err != nil {
			return wrong("Page: %v.", err)
		}
	}
	return nil
}

// readTime parses an absolute time, or how long ago it was. An empty text is the zero time.
func readTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 36500 {
			return now.Add(-time.Duration(n * float64(24*time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t, nil
		}
	}
	return time.Time{}, refuse(http.StatusBadRequest, "%.40q is neither an age such as 90s, 2h or 7d, nor a time (UTC) such as 2026-01-31 15:04.", text)
}

// Values returns the query of the search.
func (s *search) Values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"kind": s.Kind, "queue": s.Queue, "args": s.Args, "error": s.Error, "worker": s.Worker, "since": s.Since, "until": s.Until,
		"key": s.Key, "meta": s.Meta, "id": s.ID, "before": s.Before, "sort": s.Sort,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for _, state := range s.States {
		q.Add("state", string(state))
	}
	return q
}

// Everyone returns the query for all matching jobs, without the page.
func (s *search) Everyone() url.Values {
	other := *s
	other.Before, other.Sort = "", ""
	return other.Values()
}

// link returns the URL of a search.
func (s *search) link() string {
	if q := s.Values(); len(q) > 0 {
		return "/jobs?" + q.Encode()
	}
	return "/jobs"
}

// with returns the URL of a changed search, at its first page.
func (s *search) with(change func(*search)) string {
	other := *s
	other.Before = ""
	change(&other)
	return other.link()
}

// Narrows reports whether the search excludes any jobs.
func (s *search) Narrows() bool {
	return len(s.Everyone()) > 0
}

// More reports whether one of the fields is set that are folded by default.
func (s *search) More() bool { return s.Worker+s.Since+s.Until+s.Key+s.Meta+s.ID != "" }

// Scans reports whether the search needs a scan, since no index finds the jobs.
func (s *search) Scans() bool {
	f := &s.filter
	return (len(f.Args)+len(f.Meta) > 0 || f.Error+f.Worker != "") && len(f.IDs) == 0 && f.UniqueKey == ""
}

// known returns how many jobs match, if that can be computed from the counts of the store.
func (s *search) known(counts []job.Count) (n int64, ok bool) {
	f := &s.filter
	if len(f.IDs) > 0 || len(f.Args)+len(f.Meta) > 0 || f.Error+f.Worker+f.UniqueKey != "" || !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero() ||
		slices.Contains(f.States, job.Scheduled) || slices.Contains(f.States, job.Retrying) {
		return 0, false
	}
	among := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
	for _, c := range counts {
		if among(f.Kinds, c.Kind) && among(f.Queues, c.Queue) && (len(f.States) == 0 || slices.Contains(f.States, c.State)) {
			n += c.N
		}
	}
	return n, true
}
