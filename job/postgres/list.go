package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// List returns jobs by ID, newest first.
func (s *Store) List(ctx context.Context, f job.Filter) (jobs []*job.Job, err error) {
	if f.Limit <= 0 {
		return nil, fmt.Errorf("list jobs: a limit of %d", f.Limit)
	}
	if f.IDs != nil && len(f.IDs) == 0 {
		return nil, s.enter(ctx)
	}
	err = s.call(ctx, "list jobs", func(ctx context.Context) (err error) {
		if len(f.IDs) > 0 {
			jobs, err = listOn(ctx, s, s.run(), f)
			return err
		}
		return s.inTime(ctx, func(b *batches) (err error) {
			jobs, err = listOn(ctx, s, b, f)
			return err
		})
	})
	return jobs, err
}

func listOn(ctx context.Context, s *Store, on runner, f job.Filter) (jobs []*job.Job, err error) {
	if f.MetaID() != "" && len(f.IDs) == 0 {
		f.IDs, err = on.ids(ctx, s.sql("list_meta_id"), f.Meta[job.MetaID])
		if err != nil || len(f.IDs) == 0 {
			return nil, err
		}
	}
	var r row
	err = on.each(ctx, s.sql(listStatement(f)), filterArgs(f), r.all(), func() error {
		j, err := r.job()
		jobs = append(jobs, j)
		return err
	})
	return jobs, err
}

// listStatement returns the cheapest statement that finds the jobs that match a filter.
func listStatement(f job.Filter) string {
	if len(f.IDs) == 0 && f.UniqueKey == "" && len(f.Kinds)+len(f.Queues)+len(f.States) > 0 {
		return "list_classes"
	}
	return "list"
}

// filterArgs returns the arguments of list.sql and list_classes.sql. Null does not narrow the search.
func filterArgs(f job.Filter) []any {
	var ids [][16]byte
	if len(f.IDs) > 0 {
		ids = uuids(f.IDs)
	}
	var states []string
	queued, running, finished := true, true, true
	if len(f.States) > 0 {
		has := func(s job.State) bool { return slices.Contains(f.States, s) }
		queued, running = has(job.Queued) || has(job.Scheduled) || has(job.Retrying), has(job.Running)
		for _, state := range f.States {
			if state.Finished() {
				states = append(states, string(state))
			}
		}
		finished = len(states) > 0
	}
	// Queued means every queued job; the views are parts of it.
	scheduled, retrying := slices.Contains(f.States, job.Scheduled), slices.Contains(f.States, job.Retrying)
	if len(f.States) == 0 || slices.Contains(f.States, job.Queued) {
		scheduled, retrying = true, true
	}
	every := len(f.States) == 0 || slices.Contains(f.States, job.Queued)
	if !f.FinishedBefore.IsZero() {
		queued, running = false, false
	}
	from, to := idRange(f)
	return []any{
		queued, running, finished, f.Limit, from, to, ids, soughtAll(f.Kinds), soughtAll(f.Queues), states, every, scheduled, retrying,
		text(sought(f.Worker)), text(sought(f.UniqueKey)), instant(f.FinishedBefore), hints(f), text(errorHint(f.Error)), soughtAll(f.MetaTexts()),
	}
}

// idRange returns the bounds of the IDs: the first is included, the second is not; null is no bound.
func idRange(f job.Filter) (from, to *[16]byte) {
	if !f.CreatedAfter.IsZero() {
		from = firstID(f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		to = firstID(f.CreatedBefore)
	}
	if f.Before != (job.ID{}) {
		if before := [16]byte(f.Before); to == nil || string(before[:]) < string(to[:]) {
			to = &before
		}
	}
	return from, to
}

// firstID returns the lowest ID that can be made at t or later.
func firstID(t time.Time) *[16]byte {
	var id [16]byte
	ms := t.UnixMilli()
	if t.Nanosecond()%1e6 > 0 {
		ms++
	}
	binary.BigEndian.PutUint64(id[:8], uint64(max(ms, 0))<<16)
	return &id
}

// sought returns the text to search for in the place of s. PostgreSQL refuses text with a zero byte, and text that is not UTF-8; no row has such
// text. sought replaces it by a text with a control character, which no name, key or JSON in a row has either.
func sought(s string) string {
	const inNoName = "\x01"
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", inNoName), inNoName)
}

func soughtAll(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = sought(s)
	}
	return all
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// hints returns patterns that match the args of every matching job.
func hints(f job.Filter) []string {
	var patterns []string
	for _, m := range f.Args {
		if strings.HasPrefix(m.Value, "{") || strings.HasPrefix(m.Value, "[") {
			continue // JSON has several ways to write an object or array
		}
		patterns = append(patterns, pattern(m.Value, plain))
	}
	return patterns
}

// errorHint returns a pattern, in lower case, that matches the detail of every job with such an error.
func errorHint(part string) string {
	if part == "" {
		return ""
	}
	// The letters i, k and s are also the lower case of letters outside ASCII, which the database does not change.
	return pattern(strings.ToLower(part), func(r rune) bool { return plain(r) && r != 'i' && r != 'k' && r != 's' })
}

// plain reports whether the JSON in a store can write a character in only one way: as it is.
func plain(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" :;,.-+*=()@#!?", r))
}

// pattern returns a pattern of LIKE for a part of a JSON text, with a gap for each character that is not certain.
func pattern(part string, certain func(rune) bool) string {
	var b strings.Builder
	b.WriteByte('%')
	gap := true
	for _, r := range part {
		if certain(r) {
			b.WriteRune(r)
			gap = false
		} else if !gap {
			b.WriteByte('%')
			gap = true
		}
	}
	if !gap {
		b.WriteByte('%')
	}
	return b.String()
}
