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

// listStatement is the one that finds what matches a filter with the least effort.
func listStatement(f job.Filter) string {
	if len(f.IDs) == 0 && f.UniqueKey == "" && len(f.Kinds)+len(f.Queues)+len(f.States) > 0 {
		return "list_classes"
	}
	return "list"
}

// filterArgs are those of list.sql and list_classes.sql, of which nulls narrow nothing.
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

// idRange returns the bounds of the IDs, the first within, the second not: null stands for none.
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

// firstID returns the lowest ID made at t or later.
func firstID(t time.Time) *[16]byte {
	var id [16]byte
	ms := t.UnixMilli()
	if t.Nanosecond()%1e6 > 0 {
		ms++
	}
	binary.BigEndian.PutUint64(id[:8], uint64(max(ms, 0))<<16)
	return &id
}

// sought returns what to look for in place of a text. PostgreSQL refuses one with a zero byte or that is not UTF-8, which no row has;
// in its place stands another that no row has, as names, keys and JSON have no control characters.
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

// hints are patterns that the args of every job that matches have in them.
func hints(f job.Filter) []string {
	var patterns []string
	for _, m := range f.Args {
		if strings.HasPrefix(m.Value, "{") || strings.HasPrefix(m.Value, "[") {
			continue // there may be other ways to write it
		}
		patterns = append(patterns, pattern(m.Value, plain))
	}
	return patterns
}

// errorHint is a pattern that the detail of every job with such an error has in it, in lower case.
func errorHint(part string) string {
	if part == "" {
		return ""
	}
	// i, k and s are the lower case of letters beyond ASCII as well, which the database leaves as they are.
	return pattern(strings.ToLower(part), func(r rune) bool { return plain(r) && r != 'i' && r != 'k' && r != 's' })
}

// plain reports whether JSON may write a character in one way only, in what a store holds: as it is.
func plain(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" :;,.-+*=()@#!?", r))
}

// pattern makes one for LIKE of a part of a JSON text, with a gap for whatever is not certain.
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
