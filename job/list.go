package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile"
)

const listPage = 200

// List yields the jobs that match the filter, newest first, a page of a few hundred at a time. Jobs that are created or deleted while it runs may
// or may not be among them; each is yielded at most once.
func List(ctx context.Context, s Store, f Filter) meanwhile.Stream[*Job] {
	return func(yield func(*Job, error) bool) {
		left := f.Limit
		page := f
		for {
			page.Limit = listPage
			if left > 0 && f.exact() {
				page.Limit = min(left, listPage)
			}
			jobs, err := s.List(ctx, page)
			if err != nil {
				yield(nil, fmt.Errorf("list jobs: %w", err))
				return
			}
			for _, j := range jobs {
				if !f.matchesText(j) {
					continue
				}
				if !yield(j, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if len(jobs) < page.Limit {
				return
			}
			page.Before = jobs[len(jobs)-1].ID
		}
	}
}

// Find returns the job with the ID, or ErrNotFound.
func Find(ctx context.Context, s Store, id ID) (*Job, error) {
	jobs, err := s.List(ctx, Filter{IDs: []ID{id}, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find job %v: %w", id, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("job %v: %w", id, ErrNotFound)
	}
	return jobs[0], nil
}

// exact reports whether Store.List returns only what matches.
func (f *Filter) exact() bool { return len(f.Args) == 0 && f.Error == "" }

// matchesText checks the fields of the filter that are only hints for Store.List.
func (f *Filter) matchesText(j *Job) bool {
	if f.Error != "" {
		part, found := strings.ToLower(f.Error), false
		for i := range j.Failures {
			found = found || strings.Contains(strings.ToLower(j.Failures[i].Error), part)
		}
		if !found {
			return false
		}
	}
	if len(f.Args) == 0 {
		return true
	}
	decoder := json.NewDecoder(bytes.NewReader(j.Args))
	decoder.UseNumber()
	var args any
	if decoder.Decode(&args) != nil {
		return false
	}
	for _, m := range f.Args {
		if !m.matches(args) {
			return false
		}
	}
	return true
}

func (m *ArgsMatch) matches(value any) bool {
	path := m.Path
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[name]
			if !ok {
				return false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	if text, ok := value.(string); ok {
		return text == m.Value
	}
	text, err := json.Marshal(value)
	return err == nil && string(text) == m.Value
}
