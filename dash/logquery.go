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

// A logSearch says which records to show. It is the query of a URL, and nothing else.
type logSearch struct {
	Text         string // in the language of filters
	Service      string // the name of one
	Level        string // the least
	Since, Until string // times, or how long ago
	Before       string // the time before which the page begins, in nanoseconds since 1970
	Skip         string // how many of the records right before that time are on pages before

	query  storage.Query
	before time.Time
	skip   int
	plain  bool // it asks for nothing that may be masked
}

var logLevels = []string{"debug", "info", "warn", "error"}

// logPage is how many records are on a page, and kept of a live one.
const logPage = 100

// readLogSearch reads a query. Its errors say what is wrong, and where.
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
	asked, err := filter.Parse(s.Text) // alone, so that an error says where in it
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

// mostSkip is how many records of one moment can be gone past, page by page.
const mostSkip = 10_000

// whole returns the text of a filter for all that is asked for but the times.
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

// quoteFilter quotes a text for the language of filters.
func quoteFilter(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// page returns the query for what is on the page.
func (s *logSearch) page() storage.Query {
	q := s.query
	q.Newest = true
	if s.Before != "" {
		q.Until = s.before
	}
	q.Limit = logPage + 1 + s.skip
	if !s.plain {
		q.Limit *= 10 // some of which may match by what is masked alone
	}
	return q
}

// Live reports whether what comes in belongs on the page.
func (s *logSearch) Live() bool { return s.Before == "" && s.Until == "" }

// Narrows reports whether the search leaves records out.
func (s *logSearch) Narrows() bool { return s.Text+s.Service+s.Level+s.Since+s.Until != "" }

// link returns the address of a search.
func (s *logSearch) link() string {
	return logsURL("q", s.Text, "service", s.Service, "level", s.Level, "since", s.Since, "until", s.Until, "before", s.Before, "skip", s.Skip)
}

// with returns the address of a changed search, at its first page.
func (s *logSearch) with(change func(*logSearch)) string {
	other := *s
	other.Before, other.Skip = "", ""
	change(&other)
	return other.link()
}

// logsURL is the address of a search for records, by pairs of a field and its value.
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
