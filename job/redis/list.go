package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A filter is a job.Filter in JSON for lua/scan.lua.
type filter struct {
	ByID           bool        `json:"by_id,omitempty"`
	Kinds          []string    `json:"kinds,omitempty"`
	Queues         []string    `json:"queues,omitempty"`
	States         []job.State `json:"states,omitempty"`
	Worker         string      `json:"worker,omitempty"`
	UniqueKey      string      `json:"unique_key,omitempty"`
	FinishedBefore string      `json:"finished_before,omitempty"`
	Meta           []string    `json:"meta,omitempty"`
	MetaID         string      `json:"meta_id,omitempty"`
}

// A search finds jobs, newest first, in as many runs of a script as needed.
type search struct {
	text   string
	ids    []job.ID // if byID: the candidates, newest first
	byID   bool
	hi, lo string // bounds of IDs, in the syntax of ranges in Redis
}

// searchIDs is how many candidate IDs one run gets.
const searchIDs = 500

func newSearch(f job.Filter) (*search, error) {
	s := &search{byID: f.IDs != nil, hi: "+", lo: "-"}
	before := f.Before
	if f.CreatedBefore.After(time.Unix(0, 0)) {
		if first := firstID(f.CreatedBefore); before == (job.ID{}) || bytes.Compare(first[:], before[:]) < 0 {
			before = first
		}
	} else if !f.CreatedBefore.IsZero() {
		s.hi, s.lo = "-", "-"
	}
	if before != (job.ID{}) {
		s.hi = "(" + idText(before)
	}
	var after job.ID
	if f.CreatedAfter.After(time.Unix(0, 0)) {
		after = firstID(f.CreatedAfter)
		s.lo = "[" + idText(after)
	}
	for _, id := range f.IDs {
		if (before == (job.ID{}) || bytes.Compare(id[:], before[:]) < 0) && bytes.Compare(id[:], after[:]) >= 0 && s.lo != s.hi {
			s.ids = append(s.ids, id)
		}
	}
	slices.SortFunc(s.ids, func(a, b job.ID) int { return bytes.Compare(b[:], a[:]) })
	s.ids = slices.Compact(s.ids)
	text, err := json.Marshal(filter{
		ByID: s.byID, Kinds: f.Kinds, Queues: f.Queues, States: f.States, Worker: f.Worker, UniqueKey: f.UniqueKey, FinishedBefore: finishedBefore(f.FinishedBefore),
		Meta: f.MetaTexts(), MetaID: metaID(f),
	})
	s.text = string(text)
	return s, err
}

// metaID returns the meta ID whose index can serve a filter, or "".
func metaID(f job.Filter) string {
	if f.MetaID() == "" {
		return ""
	}
	return f.Meta[job.MetaID]
}

// finishedBefore rounds up to whole microseconds, the resolution of stored times.
func finishedBefore(t time.Time) string {
	if !t.IsZero() && t.Nanosecond()%1000 > 0 {
		t = t.Add(time.Microsecond)
	}
	return micros(t)
}

// firstID returns the lowest ID that can be made at t or later; IDs have whole milliseconds.
func firstID(t time.Time) (id job.ID) {
	ms := t.UnixMilli()
	if t.Nanosecond()%1e6 > 0 {
		ms++
	}
	for i := range 6 {
		id[i] = byte(min(ms, math.MaxInt64>>16) >> (40 - 8*i))
	}
	return id
}

// args returns the arguments of a run that finds up to limit jobs; more comes before the IDs.
func (s *search) args(limit int, more ...string) []string {
	args := append([]string{s.text, s.hi, s.lo, strconv.Itoa(limit)}, more...)
	for _, id := range s.ids[:min(len(s.ids), searchIDs)] {
		args = append(args, idText(id))
	}
	return args
}

// goOn continues the search before the last ID of a run, which is "" if the run found all. It returns false if the search is over.
func (s *search) goOn(last string) bool {
	if !s.byID {
		s.hi = "(" + last
		return last != ""
	}
	if last == "" {
		s.ids = s.ids[min(len(s.ids), searchIDs):]
	} else {
		s.ids = s.ids[slices.Index(s.ids, idOf(last))+1:]
	}
	return len(s.ids) > 0
}

// over reports whether no more jobs can match.
func (s *search) over() bool { return s.byID && len(s.ids) == 0 || s.lo == s.hi }

// List returns jobs by ID, newest first. It ignores Args and Error of the filter, which are hints.
func (s *Store) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	var jobs []*job.Job
	err := s.call(ctx, "list jobs", func(ctx context.Context) error {
		if f.Limit <= 0 {
			return fmt.Errorf("a limit of %d", f.Limit)
		}
		search, err := newSearch(f)
		if err != nil || search.over() {
			return err
		}
		for more := true; more; {
			got, err := s.run(ctx, listScript, search.args(min(f.Limit-len(jobs), listJobs))...)
			if err != nil {
				return err
			}
			found, err := jobsOf(got[1])
			if err != nil {
				return err
			}
			jobs = append(jobs, found...)
			more = search.goOn(text(got[0])) && len(jobs) < f.Limit
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// listJobs is how many jobs one run reads.
const listJobs = 500
