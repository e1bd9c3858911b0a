package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// applyJobs is how many jobs one run changes.
const applyJobs = 100

// Apply applies an action to the newest jobs that match the filter, at most a hundred in each run of a script, which is atomic.
func (s *Store) Apply(ctx context.Context, f job.Filter, action job.Action) (done job.ActionResult, err error) {
	err = s.call(ctx, "change jobs", func(ctx context.Context) error {
		if f.Limit <= 0 {
			return fmt.Errorf("a limit of %d", f.Limit)
		}
		if err := action.Check(); err != nil {
			return err
		}
		search, err := newSearch(f)
		if err != nil || search.over() {
			return err
		}
		from := ","
		for _, state := range action.From {
			from += string(state) + ","
		}
		left, last := f.Limit, ""
		for more := true; more; {
			got, err := s.run(ctx, applyScript, search.args(min(left, applyJobs), from, string(action.To), action.Queue, strconv.Itoa(action.Priority), flag(action.Due), micros(action.RunAt))...)
			if err != nil {
				return err
			}
			last = text(got[0])
			left -= int(number(got[1]))
			done.Changed += int(number(got[2]))
			done.Skipped += int(number(got[3]))
			done.Conflicts += int(number(got[4]))
			more = left > 0 && search.goOn(last)
		}
		if left == 0 {
			done.Next = idOf(last)
		}
		return nil
	})
	return done, err
}
