package redis

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// Settle writes the outcomes of jobs that the session holds.
func (s *Store) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	var lost []job.ID
	err := s.call(ctx, "settle jobs", func(ctx context.Context) error {
		if len(outcomes) == 0 {
			return nil
		}
		ends, err := endsOf(outcomes)
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
		lost, err = s.settle(ctx, strconv.FormatInt(int64(session), 10), ends)
		return err
	})
	return lost, err
}

// An end is an outcome with its encoded detail.
type end struct {
	job.Outcome
	detail []byte
}

func endsOf(outcomes []job.Outcome) ([]end, error) {
	ends := make([]end, len(outcomes))
	for i, o := range outcomes {
		if s := o.Job.State; s != job.Queued && s != job.Running && !s.Finished() {
			return nil, fmt.Errorf("job %v: a job cannot be stored in state %q", o.Job.ID, s)
		}
		ends[i] = end{o, o.Job.EncodeDetail()}
	}
	return ends, nil
}

// settle writes outcomes and the jobs that follow them: by one script if there are few, else by a long call.
func (s *Store) settle(ctx context.Context, session string, ends []end) (lost []job.ID, err error) {
	var numbers, new []string
	for i := range ends {
		for _, j := range ends[i].Then {
			numbers, new = append(numbers, strconv.Itoa(i+1)), append(new, newArg(j))
		}
	}
	if len(new) == 0 {
		return s.settleInParts(ctx, session, ends)
	}
	if outcomes := outcomeArgs(ends); isShort(len(ends)+len(new), outcomes, new) {
		args := append([]string{session, strconv.Itoa(len(outcomes))}, outcomes...)
		for i := range new {
			args = append(args, numbers[i], new[i])
		}
		return s.settleShort(ctx, ends, args)
	}
	outcomes := make([]string, len(ends))
	at := 0
	for i := range ends {
		outcomes[i] = outcomeArg(ends[i : i+1])
		for _, j := range ends[i].Then {
			new[at] = longArg(i+1, j, new[at])
			at++
		}
	}
	got, err := s.runLong(ctx, session, outcomes, new)
	for i := range ends {
		if err == nil && text(got[i]) == "1" {
			lost = append(lost, ends[i].Job.ID)
		}
	}
	return lost, err
}

// settleInParts writes outcomes without follow-ups, a few hundred at a time.
func (s *Store) settleInParts(ctx context.Context, session string, ends []end) (lost []job.ID, err error) {
	if fittingEnds(ends) < len(ends) { // if a job has two outcomes the first one counts, even if they are in different parts
		seen, once := make(map[job.ID]bool, len(ends)), make([]end, 0, len(ends))
		for _, e := range ends {
			if !seen[e.Job.ID] {
				seen[e.Job.ID] = true
				once = append(once, e)
			}
		}
		ends = once
	}
	for len(ends) > 0 {
		n := fittingEnds(ends)
		outcomes := outcomeArgs(ends[:n])
		of, err := s.settleShort(ctx, ends[:n], append([]string{session, strconv.Itoa(len(outcomes))}, outcomes...))
		if lost = append(lost, of...); err != nil {
			return lost, err
		}
		ends = ends[n:]
	}
	return lost, nil
}

// fittingEnds returns how many of the outcomes one script may write.
func fittingEnds(ends []end) int {
	n, size := 0, 0
	for n < min(len(ends), mostShort) && size < mostBytes {
		size += len(ends[n].detail)
		n++
	}
	return n
}

// settleShort writes outcomes by one script.
func (s *Store) settleShort(ctx context.Context, ends []end, args []string) (lost []job.ID, err error) {
	got, err := unlessThere(s.run(ctx, settleScript, args...))
	for i := range got {
		lost = append(lost, ends[number(got[i])-1].Job.ID)
	}
	return lost, err
}

// outcomeArgs encodes outcomes for lua/outcome.lua: one argument for each run of equal ones. Most are equal.
func outcomeArgs(ends []end) []string {
	var args []string
	for len(ends) > 0 {
		n := 1
		for n < len(ends) && ends[0].isLike(&ends[n]) {
			n++
		}
		args, ends = append(args, outcomeArg(ends[:n])), ends[n:]
	}
	return args
}

// isLike reports whether the outcomes of two finished jobs differ only in the ID.
func (e *end) isLike(other *end) bool {
	a, b := e.Job, other.Job
	return a.State.Finished() && a.State == b.State && a.Attempt == b.Attempt && e.Throttle == other.Throttle && e.Units == other.Units &&
		bytes.Equal(e.detail, other.detail)
}

// outcomeArg encodes equal outcomes.
func outcomeArg(ends []end) string {
	j := ends[0].Job
	p := make(packer, 0, 104+16*len(ends)+len(ends[0].detail))
	p.array(12)
	p = p.head(16 * len(ends))
	for i := range ends {
		p = append(p, ends[i].Job.ID[:]...)
	}
	p.number(int64(j.Attempt))
	p.text(string(j.State))
	p.bytes(ends[0].detail)
	p.number(int64(j.Uncounted))
	p.number(int64(j.MaxAttempts))
	p.text(j.Queue)
	p.number(int64(j.Priority))
	p.text(micros(j.RunAt))
	p.number(max(j.Delay, 0).Microseconds())
	p.number(max(ends[0].Throttle, 0).Microseconds())
	p.number(int64(ends[0].Units))
	return string(p)
}
