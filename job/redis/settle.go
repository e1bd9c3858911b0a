package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes what became of jobs that the session holds.
func (s *Store) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	var lost []job.ID
	err := s.call(ctx, "settle jobs", func(ctx context.Context) error {
		if len(outcomes) == 0 {
			return nil
		}
		args, err := outcomeArgs(outcomes)
		if err != nil {
			return err
		}
		follow, err := job.FollowUps(outcomes, nil)
		if err != nil {
			return err
		}
		if err := checkTwice(follow); err != nil {
			return err
		}
		lost, err = s.settle(ctx, strconv.FormatInt(int64(session), 10), outcomes, args)
		return err
	})
	return lost, err
}

// settle writes outcomes, and what follows them, by one script where they are few, else as a long call.
func (s *Store) settle(ctx context.Context, session string, outcomes []job.Outcome, args []string) (lost []job.ID, err error) {
	var numbers, new []string
	for i := range outcomes {
		for _, j := range outcomes[i].Then {
			numbers, new = append(numbers, strconv.Itoa(i+1)), append(new, newArg(j))
		}
	}
	if isShort(args, new) {
		args = append([]string{session, strconv.Itoa(len(outcomes))}, args...)
		for i := range new {
			args = append(args, numbers[i], new[i])
		}
		got, err := unlessThere(s.run(ctx, settleScript, args...))
		for i := range got {
			lost = append(lost, outcomes[number(got[i])-1].Job.ID)
		}
		return lost, err
	}
	if len(new) == 0 {
		return s.settleInParts(ctx, session, outcomes, args)
	}
	at := 0
	for i := range outcomes {
		for _, j := range outcomes[i].Then {
			new[at] = longArg(i+1, j, new[at])
			at++
		}
	}
	got, err := s.runLong(ctx, session, args, new)
	for i := range outcomes {
		if err == nil && text(got[i]) == "1" {
			lost = append(lost, outcomes[i].Job.ID)
		}
	}
	return lost, err
}

// settleInParts writes many outcomes that nothing follows, some hundred at a time.
func (s *Store) settleInParts(ctx context.Context, session string, outcomes []job.Outcome, args []string) (lost []job.ID, err error) {
	// Of two outcomes of one job the first counts, also where they are in two parts.
	ids, seen := make([]job.ID, 0, len(args)), make(map[job.ID]bool, len(args))
	once := make([]string, 0, len(args))
	for i := range outcomes {
		if id := outcomes[i].Job.ID; !seen[id] {
			seen[id] = true
			ids, once = append(ids, id), append(once, args[i])
		}
	}
	for len(once) > 0 {
		n := min(fitting(once), mostShort)
		part := append([]string{session, strconv.Itoa(n)}, once[:n]...)
		got, err := unlessThere(s.run(ctx, settleScript, part...))
		if err != nil {
			return lost, err
		}
		for i := range got {
			lost = append(lost, ids[number(got[i])-1])
		}
		ids, once = ids[n:], once[n:]
	}
	return lost, nil
}

// outcomeArgs are outcomes as lua/outcome.lua reads them.
func outcomeArgs(outcomes []job.Outcome) ([]string, error) {
	args := make([]string, len(outcomes))
	for i := range outcomes {
		j := outcomes[i].Job
		if j.State != job.Queued && j.State != job.Running && !j.State.Finished() {
			return nil, fmt.Errorf("job %v: a job cannot be stored in state %q", j.ID, j.State)
		}
		detail := j.EncodeDetail()
		p := make(packer, 0, 120+len(detail))
		p.array(12)
		p.text(idText(j.ID))
		p.number(int64(j.Attempt))
		p.text(string(j.State))
		p.bytes(detail)
		p.number(int64(j.Uncounted))
		p.number(int64(j.MaxAttempts))
		p.text(j.Queue)
		p.number(int64(j.Priority))
		p.text(micros(j.RunAt))
		p.number(max(j.Delay, 0).Microseconds())
		p.number(max(outcomes[i].Throttle, 0).Microseconds())
		p.number(int64(outcomes[i].Units))
		args[i] = string(p)
	}
	return args, nil
}
