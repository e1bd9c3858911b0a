package dash

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A logListing is the page with the list of records.
type logListing struct {
	*logSearch
	Rows     []logRow
	Chart    *logChart
	NoChart  string // why there is no chart
	Services []string
	Levels   []string
	Wrong    string
	Late     bool // the search took too long: there may be more
	Older    string
	Newest   string
}

const mostServices = 500 // services that the form offers

func (h *handler) logs(ctx context.Context, v *view) (*page, error) {
	if h.Logs == nil {
		return &page{Title: "Logs", Section: "logs", Data: (*logListing)(nil), frozen: true}, nil
	}
	now := time.Now()
	l := &logListing{Levels: logLevels}
	p := &page{Title: "Logs", Section: "logs", Data: l}
	var err error
	l.logSearch, err = h.readLogSearch(v.Query, now)
	if wrong, ok := errors.AsType[*refusal](err); ok {
		l.Wrong, p.status = wrong.reason, wrong.status
	} else if err != nil {
		return nil, err
	}
	p.frozen = l.Wrong != "" || !l.Live()
	if l.Services, err = h.logServices(ctx, l.Service); err != nil {
		return nil, err
	}
	if l.Wrong != "" {
		return p, nil
	}
	if err := h.findLogs(ctx, v, l, now); err != nil {
		return nil, err
	}
	if l.Before != "" {
		l.Newest = v.URL(l.with(func(*logSearch) {}))
	}
	if l.Chart, err = h.logChart(ctx, v, l.logSearch, now); err != nil {
		l.NoChart = v.trouble(err)
	}
	return p, nil
}

// logServices returns the names of the services, including the one of the search.
func (h *handler) logServices(ctx context.Context, asked string) ([]string, error) {
	names, err := h.services.get("", func() ([]string, error) {
		all, err := h.Logs.Services(ctx)
		var names []string
		for _, s := range all[:min(len(all), mostServices)] {
			names = append(names, s.Service)
		}
		return names, err
	})
	if asked != "" && !slices.Contains(names, asked) {
		names = append([]string{asked}, names...)
	}
	return names, err
}

// findLogs fills the page with records, the newest first.
func (h *handler) findLogs(ctx context.Context, v *view, l *logListing, now time.Time) error {
	limited, cancel := context.WithTimeoutCause(ctx, mostSearch, errLate)
	defer cancel()
	q := l.page()
	var last logs.Record // the last record read, shown or not
	same, read, more := 0, 0, false
	var shown []logs.Record
	for r, err := range h.Logs.Find(limited, q) {
		if err != nil && errors.Is(context.Cause(limited), errLate) {
			l.Late, more = true, read > 0
			break
		} else if err != nil {
			return err
		}
		if read++; len(shown) == logPage {
			more = true
			break
		}
		if !r.Time.Equal(last.Time) {
			same = 0
		}
		same++
		last = r
		if read <= l.skip && r.Time.Add(1).Equal(l.before) {
			continue // it is on a previous page
		}
		r = h.masked(r)
		if view := r.View(); !l.plain && !q.Filter.Match(&view) {
			continue // it matches only by masked values
		}
		shown = append(shown, r)
	}
	for i := range shown {
		l.Rows = append(l.Rows, h.newLogRow(v, &shown[i], now, l.Text != "" && len(shown) == 1))
	}
	if more || read == q.Limit {
		// The next page starts with the records of the same time as the last one, and skips those.
		older := *l.logSearch
		older.Before, older.Skip = strconv.FormatInt(last.Time.UnixNano()+1, 10), strconv.Itoa(same)
		l.Older = v.URL(older.link())
	}
	return nil
}

// A jobLog is the log of a job, the newest records first.
type jobLog struct {
	Rows  []logRow
	Wrong string // why there may be more records
	All   string // URL of all of them
}

// A jobLogFound is the search result for a jobLog, masked.
type jobLogFound struct {
	records []logs.Record
	err     error
}

const mostJobLogs = 50

func (h *handler) jobLog(ctx context.Context, v *view, j *job.Job, now time.Time) *jobLog {
	text := "job=" + quoteFilter(j.ID.String())
	known, _ := h.ofJobs.get(text, func() (known jobLogFound, _ error) { // errors are cached, too
		f, err := filter.Parse(text)
		if err != nil {
			return jobLogFound{err: err}, nil
		}
		limited, cancel := context.WithTimeoutCause(ctx, mostSearch, errLate)
		defer cancel()
		for r, err := range h.Logs.Find(limited, storage.Query{Filter: f, Since: j.Created.Add(-time.Minute), Newest: true, Limit: mostJobLogs}) {
			if err != nil {
				known.err = err
				break
			}
			known.records = append(known.records, h.masked(r))
		}
		return known, ctx.Err()
	})
	l := &jobLog{All: v.URL(logsURL("q", text))}
	if known.err != nil {
		l.Wrong = v.trouble(known.err)
	}
	for i := range known.records {
		row := h.newLogRow(v, &known.records[i], now, false)
		row.Job = "" // this is the page of the job
		l.Rows = append(l.Rows, row)
	}
	return l
}

// noJobs redirects from the overview, which does not exist without jobs, to the page of the logs.
func (h *handler) noJobs(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, h.Prefix+"/logs", http.StatusSeeOther)
}
