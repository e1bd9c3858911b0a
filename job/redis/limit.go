package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetLimits sets the limits of a queue.
func (s *Store) SetLimits(ctx context.Context, queue string, l job.Limits) error {
	what := "set limits of queue " + queue
	if err := job.CheckLimits(queue, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.call(ctx, what, func(ctx context.Context) error {
		text, numbers := "", ""
		if l != (job.Limits{}) {
			encoded, err := json.Marshal(l)
			if err != nil {
				return err
			}
			text = string(encoded)
			numbers = strings.Join([]string{
				fmt.Sprint(l.Running), rateNumbers(l.Starts), fmt.Sprint(l.EachKey.Running), rateNumbers(l.EachKey.Starts), digit(l.EachKey.InOrder),
				rateNumbers(l.Units), rateNumbers(l.EachKey.Units), fmt.Sprint(l.EachKey.Weight),
				digit(l.EachKey.HoldOnDiscard),
			}, " ")
		}
		_, err := s.runOne(ctx, limitsSetScript, queue, text, numbers)
		return err
	})
}

func digit(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// rateNumbers writes a rate as lua/lane.lua reads it.
func rateNumbers(r job.Rate) string {
	return fmt.Sprintf("%d %d %d", r.N, r.Per.Microseconds(), max(r.Burst, 1))
}

// Limits returns the limits of a queue, and how far they are used.
func (s *Store) Limits(ctx context.Context, queue, key string) (use job.LimitUse, err error) {
	err = s.call(ctx, "limits of queue "+queue, func(ctx context.Context) error {
		got, err := s.run(ctx, limitsScript, queue, key)
		if err != nil {
			return err
		}
		at := func(i int) time.Time {
			if number(got[i]) == 0 {
				return time.Time{}
			}
			return time.UnixMicro(number(got[i])).UTC()
		}
		now := at(0)
		q := job.LaneQueue{Running: int(number(got[2])), Full: at(3), Held: at(4), Paid: at(9), Overrides: int(number(got[11]))}
		if limits := text(got[1]); limits != "" {
			if err := json.Unmarshal([]byte(limits), &q.Limits); err != nil {
				return err
			}
		}
		l := job.Lane{Key: key, Running: int(number(got[5])), Full: at(6), Held: at(7), Paid: at(10)}
		if own := text(got[12]); own != "" {
			if err := json.Unmarshal([]byte(own), &l.Own); err != nil {
				return err
			}
		}
		use = q.Use(l, now)
		use.KeyFirst, use.KeyDiscarded = idOf(text(got[8])), idOf(text(got[13]))
		return nil
	})
	return use, err
}
