package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostInside is how many bytes of args are kept in the value of a job, which each claim and outcome writes again; more are kept elsewhere.
const mostInside = 512

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
	flags, meta := 0, j.Meta[job.MetaID]
	inside, outside := j.Args, []byte(nil)
	if len(j.Args) > mostInside {
		inside, outside = nil, j.Args
		flags |= hasArgs
	}
	if j.UniqueKey != "" {
		flags |= hasKey
	}
	if meta != "" {
		flags |= hasMeta
	}
	options := j.EncodeOptions()
	// The parts of the value that are known here; when it was created and is due stands between.
	var front, back packer
	front = make(packer, 0, 16+len(j.Queue)+len(j.Kind)+len(j.LimitKey))
	front.text(j.Queue)
	front.number(int64(j.Priority))
	front.text(j.Kind)
	front.text(j.LimitKey)
	back = make(packer, 0, 64+len(j.UniqueKey)+len(meta)+len(options)+len(inside))
	back.number(int64(j.MaxAttempts))
	back.number(int64(flags))
	back.number(0)
	back.number(0)
	back.text("")
	back.text(j.UniqueKey)
	back.number(max(j.UniqueFor, 0).Microseconds())
	back.text(meta)
	back.number(int64(j.Cost))
	back.bytes(options)
	back.bytes(inside)

	p := make(packer, 0, 128+2*len(front)+len(back)+len(outside))
	p.array(16)
	p.text(idText(j.ID))
	p.text(j.Kind)
	p.text(j.Queue)
	p.bytes(front)
	p.number(int64(j.Priority))
	p.bytes(back)
	p.text(j.UniqueKey)
	p.number(int64(flags))
	p.text(micros(j.RunAt))
	p.bytes(outside)
	p.text(j.LimitKey)
	p.text(meta)
	p.text(while)
	p.text(flag(j.Replace))
	p.number(max(j.ReplaceWithin, 0).Microseconds())
	p.number(max(j.Delay, 0).Microseconds())
	return string(p)
}

// groupedCalls is how many callers of Insert share a script at most.
const groupedCalls = mostShort

// groupedAtOnce is how many such scripts are under way: what comes meanwhile gathers for the next one.
const groupedAtOnce = 1

// A newInsert is what one caller inserts, an inserted the answer to it.
type newInsert struct {
	job *job.Job
	arg string
}

type inserted struct {
	id  job.ID
	err error
}

// Insert stores new jobs, all or none: up to mostShort by one script, more as a long call. Calls with one job each that come while one is under way
// share the next script.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	ids := make([]job.ID, len(jobs))
	err := s.call(ctx, "insert jobs", func(ctx context.Context) error {
		if len(jobs) == 0 {
			return nil
		}
		if err := checkTwice(jobs); err != nil {
			return err
		}
		if len(jobs) == 1 {
			got, err := s.inserts.Do(ctx, newInsert{jobs[0], newArg(jobs[0])})
			if err == nil {
				err = got.err
			}
			ids[0] = got.id
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

// flushInserts inserts the jobs of several callers by one script. When that cannot be, as one of them is there already, each is tried alone.
func (s *Store) flushInserts(ctx context.Context, calls []newInsert) ([]inserted, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done := make([]inserted, len(calls))
	args, bytes, twice := make([]string, len(calls)), 0, map[job.ID]bool{}
	for i := range calls {
		args[i] = calls[i].arg
		bytes += len(args[i])
		twice[calls[i].job.ID] = true
	}
	if len(twice) == len(calls) && bytes <= mostBytes {
		got, err := unlessThere(s.run(ctx, insertScript, args...))
		if err == nil {
			for i := range done {
				done[i].id = idOf(text(got[i]))
			}
			return done, nil
		}
		if !errors.Is(err, errThere) || len(calls) == 1 {
			return nil, err
		}
	}
	for i := range calls {
		got, err := unlessThere(s.run(ctx, insertScript, args[i]))
		if done[i].err = err; err == nil {
			done[i].id = idOf(text(got[0]))
		}
	}
	return done, nil
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

// errThere is that an ID is there already.
var errThere = errors.New("is there already")

func thereError(id job.ID) error { return fmt.Errorf("%v %w", id, errThere) }
