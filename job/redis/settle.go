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
		args, err := settleArgs(session, outcomes)
		if err != nil {
			return err
		}
		got, err := s.runStaged(ctx, settleScript, args)
		if err != nil {
			return err
		}
		for i := range got {
			lost = append(lost, outcomes[number(got[i])-1].Job.ID)
		}
		return nil
	})
	return lost, err
}

// settleArgs are the arguments of lua/settle.lua.
func settleArgs(session job.Session, outcomes []job.Outcome) ([]string, error) {
	args := []string{strconv.FormatInt(int64(session), 10), strconv.Itoa(len(outcomes))}
	for i := range outcomes {
		j := outcomes[i].Job
		if j.State != job.Queued && j.State != job.Running && !j.State.Finished() {
			return nil, fmt.Errorf("job %v: a job cannot be stored in state %q", j.ID, j.State)
		}
		args = append(args, pack(
			idText(j.ID), strconv.Itoa(j.Attempt), string(j.State), string(j.EncodeDetail()), strconv.Itoa(j.Spared), strconv.Itoa(j.MaxAttempts), j.Queue,
			strconv.Itoa(j.Priority), micros(j.RunAt), span(j.Delay), span(outcomes[i].Throttle), strconv.Itoa(outcomes[i].Units)))
	}
	follow, err := job.FollowUps(outcomes, nil)
	if err != nil {
		return nil, err
	}
	if err := checkTwice(follow); err != nil {
		return nil, err
	}
	args = append(args, strconv.Itoa(len(follow)))
	for i := range outcomes {
		for _, j := range outcomes[i].Then {
			args = append(args, strconv.Itoa(i+1), newArg(j))
		}
	}
	return args, nil
}
