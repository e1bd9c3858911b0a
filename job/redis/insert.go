package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// newArg is a new job as lua/new.lua reads it.
func newArg(j *job.Job) string {
	while := "*"
	if j.UniqueWhile != nil {
		states := make([]string, len(j.UniqueWhile))
		for i, s := range j.UniqueWhile {
			states[i] = string(s)
		}
		while = strings.Join(states, ",")
	}
	replace := ""
	if j.Replace {
		replace = "1"
	}
	return pack(
		idText(j.ID), j.Kind, j.Queue, string(j.Args), strconv.Itoa(j.Priority), strconv.Itoa(j.MaxAttempts), j.UniqueKey, span(j.UniqueFor), micros(j.RunAt),
		span(j.Delay), string(j.EncodeOptions()), j.LimitKey, j.Meta[job.MetaID], while, replace, span(j.ReplaceWithin), strconv.Itoa(j.Cost))
}

// Insert stores new jobs, all or none: up to a hundred by one script, more as a long call.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	ids := make([]job.ID, len(jobs))
	err := s.call(ctx, "insert jobs", func(ctx context.Context) error {
		if len(jobs) == 0 {
			return nil
		}
		if err := checkTwice(jobs); err != nil {
			return err
		}
		args := make([]string, len(jobs))
		for i, j := range jobs {
			args[i] = newArg(j)
		}
		got, err := s.insert(ctx, jobs, args)
		if err != nil {
			return err
		}
		for i := range ids {
			ids[i] = idOf(text(got[i]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

func (s *Store) insert(ctx context.Context, jobs []*job.Job, args []string) ([]rueidis.RedisMessage, error) {
	if isShort(args) {
		return unlessThere(s.run(ctx, insertScript, args...))
	}
	for i, j := range jobs {
		args[i] = longArg(0, j, args[i])
	}
	return s.runLong(ctx, "", nil, args)
}

// checkTwice returns an error when two jobs have one ID.
func checkTwice(jobs []*job.Job) error {
	if len(jobs) < 2 {
		return nil
	}
	seen := make(map[job.ID]bool, len(jobs))
	for _, j := range jobs {
		if seen[j.ID] {
			return thereError(j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}

func thereError(id job.ID) error { return fmt.Errorf("%v is there already", id) }
