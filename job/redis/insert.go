package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/job"
)

// mostInside is the largest size of args in bytes that are part of the value of a job, which each claim and outcome writes again. Longer args are
// stored separately.
const mostInside = 512

// newArg encodes a new job for lua/new.lua.
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
	// The parts of the value that are known here. The script puts the times of creation and of when the job is due between them.
	front := make(packer, 0, 16+len(j.Queue)+len(j.Kind)+len(j.LimitKey))
	front.second(j)
	back := make(packer, 0, 64+len(j.UniqueKey)+len(meta)+len(options)+len(inside))
	back.third(j, flags, options)
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

// second writes the second part of the value of a new job up to its times, see lua/keys.md.
func (p *packer) second(j *job.Job) {
	p.text(j.Queue)
	p.number(int64(j.Priority))
	p.text(j.Kind)
	p.text(j.LimitKey)
}

// third writes what follows the times, up to the args.
func (p *packer) third(j *job.Job, flags int, options []byte) {
	p.number(int64(j.MaxAttempts))
	p.number(int64(flags))
	p.number(0)
	p.number(0)
	p.text("")
	p.text(j.UniqueKey)
	p.number(max(j.UniqueFor, 0).Microseconds())
	p.text(j.Meta[job.MetaID])
	p.number(int64(j.Cost))
	p.bytes(options)
}

// groupedCalls is how many callers of Insert may share a script.
const groupedCalls = mostShort

// groupedAtOnce is how many shared scripts may run at once. Calls that arrive while one runs share the next one.
const groupedAtOnce = 1

// gathering bounds how long a script waits for callers that insert repeatedly. Otherwise they would form two groups that take turns, and a script
// costs about the same for 8 jobs as for 16.
const gathering = 100 * time.Microsecond

// An inserted is the result for a caller who inserts one job.
type inserted struct {
	id  job.ID
	err error
}

func groupInserts(flush func(ctx context.Context, jobs []*job.Job) ([]inserted, error)) *group.Group[*job.Job, inserted] {
	g := group.New(groupedCalls, groupedAtOnce, flush)
	g.Gather(gathering)
	g.Detach()
	return g
}

// Insert stores new jobs, all or none: a few by one script, more by a long call. Calls with one job each that arrive while a script runs share the
// next script, which waits at most 0.1 ms for callers that insert repeatedly.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) (ids []job.ID, err error) {
	err = s.call(ctx, "insert jobs", func(ctx context.Context) error {
		switch len(jobs) {
		case 0:
			ids = []job.ID{}
			return nil
		case 1:
			got, err := s.inserts.Do(ctx, jobs[0])
			if ids = []job.ID{got.id}; err == nil {
				err = got.err
			}
			return err
		}
		if err := checkTwice(jobs); err != nil {
			return err
		}
		var err error
		ids, err = s.insert(ctx, jobs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// flushInserts inserts the jobs of several callers by one script. If that fails because the ID of a job exists already, it inserts each job
// alone.
func (s *Store) flushInserts(ctx context.Context, jobs []*job.Job) ([]inserted, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done := make([]inserted, len(jobs))
	size := 0
	for _, j := range jobs {
		size += len(j.Args)
	}
	if checkTwice(jobs) == nil && size <= mostBytes {
		ids, err := s.insert(ctx, jobs)
		if err == nil {
			for i := range done {
				done[i].id = ids[i]
			}
			return done, nil
		}
		if !errors.Is(err, errThere) || len(jobs) == 1 {
			return nil, err
		}
	}
	for i := range jobs {
		ids, err := s.insert(ctx, jobs[i:i+1])
		if done[i].err = err; err == nil {
			done[i].id = ids[0]
		}
	}
	return done, nil
}

// insert stores new jobs: a few by one script, more by a long call.
func (s *Store) insert(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
	ids := make([]job.ID, len(jobs))
	if arePlain(jobs) {
		for i, j := range jobs {
			ids[i] = j.ID
		}
		_, err := unlessThere(s.run(ctx, plainScript, plainArgs(jobs)...))
		return ids, err
	}
	args := make([]string, len(jobs))
	for i, j := range jobs {
		args[i] = newArg(j)
	}
	got, err := s.insertArgs(ctx, jobs, args)
	if err != nil {
		return nil, err
	}
	for i := range ids {
		ids[i] = idOf(text(got[i]))
	}
	return ids, nil
}

func (s *Store) insertArgs(ctx context.Context, jobs []*job.Job, args []string) ([]rueidis.RedisMessage, error) {
	if isShort(len(args), args) {
		return unlessThere(s.run(ctx, insertScript, args...))
	}
	for i, j := range jobs {
		args[i] = longArg(0, j, args[i])
	}
	return s.runLong(ctx, "", nil, args)
}

// checkTwice returns an error if two of the jobs have the same ID.
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

// errThere is the error for an ID that exists already.
var errThere = errors.New("is there already")

func thereError(id job.ID) error { return fmt.Errorf("%v %w", id, errThere) }
