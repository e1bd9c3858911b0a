package dash

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/storage"
)

const (
	logBars     = 60
	mostTallied = 50_000 // records that are read for counting
)

// A logChart shows how many records match over time, by level.
type logChart struct {
	From, To time.Time
	Top      string
	Bars     []logBar
	Totals   []logTotal
	Partial  bool
	Empty    bool
}

// A logBar is a part of the time, and links to its records.
type logBar struct {
	X     int
	Parts []logBarPart
	Text  string
	URL   string
}

type logBarPart struct {
	Level     string
	Y, Height int
}

type logTotal struct {
	Level string
	N     int64
}

// logRange returns the time that the chart shows: the one of the search, or the last hour.
func (s *logSearch) logRange(now time.Time) (since, until time.Time) {
	until = s.query.Until
	if until.IsZero() {
		until = now.Truncate(time.Minute).Add(time.Minute)
	}
	since = s.query.Since
	if since.IsZero() {
		since = until.Add(-time.Hour)
	} else if s.query.Until.IsZero() {
		since = since.Truncate(time.Minute) // so that a relative time does not change the query every second
	}
	return since, until
}

// logChart counts the matching records.
func (h *handler) logChart(ctx context.Context, v *view, s *logSearch, now time.Time) (*logChart, error) {
	q := s.query
	q.Since, q.Until = s.logRange(now)
	key := fmt.Sprint(q.Filter, " ", q.Since.UnixNano(), " ", q.Until.UnixNano())
	counted, err := h.histograms.get(key, func() (storage.Histogram, error) {
		if s.plain || len(h.Mask) == 0 {
			return h.Logs.Histogram(ctx, q, logBars)
		}
		return h.countMasked(ctx, q)
	})
	if err != nil {
		return nil, err
	}
	return drawLogChart(v, s, counted), nil
}

// countMasked counts the records that match as they are shown, so that counts reveal nothing about masked values.
func (h *handler) countMasked(ctx context.Context, q storage.Query) (storage.Histogram, error) {
	width := q.Until.Sub(q.Since) / logBars
	found := storage.Histogram{Since: q.Since, Until: q.Until, Buckets: make([]storage.Bucket, logBars)}
	for i := range found.Buckets {
		found.Buckets[i].Begin = q.Since.Add(time.Duration(i) * width)
	}
	limited, cancel := context.WithTimeoutCause(ctx, mostSearch, errLate)
	defer cancel()
	q.Newest, q.Limit = true, mostTallied
	read := 0
	for r, err := range h.Logs.Find(limited, q) {
		if err != nil && errors.Is(context.Cause(limited), errLate) {
			found.Partial = true
			break
		} else if err != nil {
			return found, err
		}
		read++
		shown := h.masked(r)
		if view := shown.View(); !q.Filter.Match(&view) || width <= 0 {
			continue
		}
		b := &found.Buckets[min(max(int(r.Time.Sub(q.Since)/width), 0), logBars-1)]
		switch levelOf(r.Level) {
		case "debug":
			b.Debug++
		case "info":
			b.Info++
		case "warn":
			b.Warn++
		default:
			b.Error++
		}
	}
	found.Partial = found.Partial || read == mostTallied
	return found, nil
}

func drawLogChart(v *view, s *logSearch, found storage.Histogram) *logChart {
	c := &logChart{From: found.Since.UTC(), To: found.Until.UTC(), Partial: found.Partial}
	most := int64(0)
	sums := make([]int64, len(logLevels))
	counts := func(b *storage.Bucket) []int64 { return []int64{b.Debug, b.Info, b.Warn, b.Error} }
	for i := range found.Buckets {
		all := int64(0)
		for k, n := range counts(&found.Buckets[i]) {
			all += n
			sums[k] += n
		}
		most = max(most, all)
	}
	for k, n := range sums {
		c.Totals = append(c.Totals, logTotal{logLevels[k], n})
	}
	if c.Empty = most == 0; c.Empty {
		return c
	}
	top := roundUp(float64(most))
	c.Top = number(int64(top))
	for i := range found.Buckets {
		if bar, ok := drawLogBar(v, s, found, i, counts(&found.Buckets[i]), top); ok {
			c.Bars = append(c.Bars, bar)
		}
	}
	return c
}

func drawLogBar(v *view, s *logSearch, found storage.Histogram, i int, counts []int64, top float64) (bar logBar, ok bool) {
	begin, end := found.Buckets[i].Begin, found.Until
	if i+1 < len(found.Buckets) {
		end = found.Buckets[i+1].Begin
	}
	bar = logBar{X: i * chartStep, Text: begin.UTC().Format("2006-01-02 15:04:05")}
	sum, y := int64(0), chartHeight
	for k := len(counts) - 1; k >= 0; k-- { // errors at the bottom, where they are easiest to compare
		if counts[k] == 0 {
			continue
		}
		sum += counts[k]
		next := min(chartHeight-int(math.Round(float64(sum)/top*chartHeight)), y-1)
		bar.Parts = append(bar.Parts, logBarPart{logLevels[k], max(next, 0), y - max(next, 0)})
		bar.Text += fmt.Sprintf(", %s %s", number(counts[k]), logLevels[k])
		y = max(next, 0)
	}
	bar.URL = v.URL(s.with(func(s *logSearch) {
		s.Since, s.Until = begin.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano)
	}))
	return bar, sum > 0
}
