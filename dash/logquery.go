package dash

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A logSearch is a search for log records. It is the parsed query of a URL, and nothing else.
type logSearch struct {
	Text         string // in the filter language
	Service      string // name of a service
	Level        string // the lowest level
	Since, Until string // absolute or relative times
	Before       string // the page has records before this time, in nanoseconds since 1970
	Skip         string // how many of the records right before that time are on previous pages

	query  storage.Query
	before time.Time
	skip   int
	plain  bool // does not search anything that may be masked
}

var logLevels = []string{"debug", "info", "warn", "error"}

// logPage is the number of records on a page, and also on a live page.
const logPage = 100

// readLogSearch parses a query. Its errors say what is wrong, and where.
func (h *handler) readLogSearch(q url.Values, now time.Time) (*logSearch, error) {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	s := &logSearch{
		Text: text("q"), Service: q.Get("service"), Level: text("level"), Since: text("since"), Until: text("until"),
		Before: text("before"), Skip: text("skip"),
	}
	if !slices.Contains(logLevels, s.Level) {
		s.Level = ""
	}
	return s, h.fillLogQuery(s, now)
}

func (h *handler) fillLogQuery(s *logSearch, now time.Time) error {
	wrong := func(reason string, args ...any) error { return refuse(http.StatusBadRequest, reason, args...) }
	asked, err := filter.Parse(s.Text) // separately, so that the position in an error is right
	if err != nil {
		return wrong("%v.", err)
	}
	message, keys := asked.Looks()
	s.plain = !message
	for _, key := range keys {
		if h.hidesKey(key) {
			return wrong("%.60q is masked, and cannot be searched.", key)
		}
		s.plain = s.plain && strings.HasPrefix(key, "job.")
	}
	if s.query.Filter, err = filter.Parse(s.whole()); err != nil {
		return wrong("%v.", err)
	}
	if s.query.Since, err = readTime(s.Since, now); err != nil {
		return wrong("Since: %v", err)
	}
	if s.query.Until, err = readTime(s.Until, now); err != nil {
		return wrong("Until: %v", err)
	}
	if !s.query.Until.IsZero() && !s.query.Since.Before(s.query.Until) {
		return wrong("Since is not before until.")
	}
	if s.Before == "" {
		return nil
	}
	before, err := strconv.ParseInt(s.Before, 10, 64)
	if err == nil && s.Skip != "" {
		s.skip, err = strconv.Atoi(s.Skip)
	}
	if err != nil || s.skip < 0 || s.skip > mostSkip {
		return wrong("Page: there is none that begins there.")
	}
	s.before = time.Unix(0, before)
	return nil
}

// mostSkip is how many records of the same time can be paged through.
const mostSkip = 10_000

// whole returns the filter text for the whole search without the times.
func (s *logSearch) whole() string {
	var parts []string
	if s.Service != "" {
		parts = append(parts, "service="+quoteFilter(s.Service))
	}
	if s.Level != "" {
		parts = append(parts, "level>="+s.Level)
	}
	if s.Text != "" && len(parts) > 0 {
		parts = append(parts, "("+s.Text+")")
	} else if s.Text != "" {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, " ")
}

// quoteFilter quotes a text for the filter language.
func quoteFilter(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// page returns the query for the records of the page.
func (s *logSearch) page() storage.Query {
	q := s.query
	q.Newest = true
	if s.Before != "" {
		q.Until = s.before
	}
	q.Limit = logPage + 1 + s.skip
	if !s.plain {
		q.Limit *= 10 // some of them may match only by masked values
	}
	return q
}

// Live reports whether new records belong on the page.
func (s *logSearch) Live() bool { return s.Before == "" && s.Until == "" }

// Narrows reports whether the search excludes any records.
func (s *logSearch) Narrows() bool { return s.Text+s.Service+s.Level+s.Since+s.Until != "" }

// link returns the URL of a search.
func (s *logSearch) link() string {
	return logsURL("q", s.Text, "service", s.Service, "level", s.Level, "since", s.Since, "until", s.Until, "before", s.Before, "skip", s.Skip)
}

// with returns the URL of a changed search, at its first page.
func (s *logSearch) with(change func(*logSearch)) string {
	other := *s
	other.Before, other.Skip = "", ""
	change(&other)
	return other.link()
}

// logsURL returns the URL of a search for records, by pairs of a field and its value.
func logsURL(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return "/logs"
	}
	return "/logs?" + q.Encode()
}
