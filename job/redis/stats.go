package redis

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of what is read at once.
const (
	statsPage  = 500 // rows of minutes
	spansPage  = 4   // spans, each with up to job.MostStats rows
	mergedOnce = 200 // rows of minutes that one run adds up
	mergedMost = 50  // runs per Prune: the next Prune continues
)

// Stats returns the rows that match, the oldest first.
func (s *Store) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	var stats []job.Stat
	err := s.call(ctx, "read the stats", func(ctx context.Context) error {
		from := "-inf"
		if !f.Since.IsZero() {
			from = finishedBefore(f.Since)
		}
		var found []string
		for full := true; full; {
			rows, err := s.run(ctx, statsScript, from, strconv.Itoa(len(found)), strconv.Itoa(statsPage))
			if err != nil {
				return err
			}
			for i := range rows {
				_, row, _ := strings.Cut(text(rows[i]), "\n")
				found = append(found, row)
			}
			full = len(rows) == statsPage
		}
		past, err := s.past(ctx, from)
		if err == nil {
			stats, err = job.ReadStats(append(found, past...)...)
		}
		if err != nil {
			return err
		}
		stats = slices.DeleteFunc(stats, func(row job.Stat) bool { return !f.Matches(&row) })
		slices.SortFunc(stats, func(a, b job.Stat) int { return a.Minute.Compare(b.Minute) })
		return nil
	})
	return stats, err
}

// past returns the rows of spans as texts, from a time on.
func (s *Store) past(ctx context.Context, from string) (found []string, err error) {
	for spans, full := 0, true; full; {
		got, err := s.run(ctx, pastScript, from, strconv.Itoa(spans), strconv.Itoa(spansPage))
		if err != nil {
			return nil, err
		}
		found = append(found, texts(got[1])...)
		n := int(number(got[0]))
		spans, full = spans+n, n == spansPage
	}
	return found, nil
}

// mergeStats adds up rows of minutes that are old enough. Rows that are changed at the same time, by a late report of a worker or another Prune, are
// read again.
func (s *Store) mergeStats(ctx context.Context) error {
	for range mergedMost {
		got, err := s.run(ctx, statsOldScript, span(job.StatsKept), span(job.StatsSpan), strconv.Itoa(mergedOnce))
		if err != nil || len(got) == 0 {
			return err
		}
		fields, rows := texts(got[2]), texts(got[3])
		args := []string{text(got[0]), text(got[1]), strconv.Itoa(len(fields))}
		old := texts(got[4])
		for i, field := range fields {
			args = append(args, field, rows[i])
			_, row, _ := strings.Cut(rows[i], "\n")
			old = append(old, row)
		}
		stats, err := job.ReadStats(old...)
		if err != nil {
			return err
		}
		before := map[string]bool{}
		for _, row := range texts(got[4]) {
			before[row] = true
		}
		for _, stat := range job.MergeStats(stats...) {
			encoded, err := json.Marshal(stat)
			if err != nil {
				return err
			}
			if !before[string(encoded)] {
				args = append(args, stat.Queue+"\n"+stat.Kind, string(encoded))
			}
		}
		if _, err := s.runOne(ctx, statsAddScript, args...); err != nil {
			return err
		}
	}
	return nil
}
