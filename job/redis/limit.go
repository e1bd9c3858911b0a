package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

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

// rateNumbers encodes a rate for lua/lane.lua.
func rateNumbers(r job.Rate) string {
	return fmt.Sprintf("%d %d %d", r.N, r.Per.Microseconds(), max(r.Burst, 1))
}

// Limits returns the limits of a queue, and how much of them is used.
func (s *Store) Limits(ctx context.Context, queue string, keys ...string) (uses []job.LimitUse, err error) {
	if err := job.CheckUses(keys); err != nil {
		return nil, fmt.Errorf("limits of queue %s: %w", queue, err)
	}
	err = s.call(ctx, "limits of queue "+queue, func(ctx context.Context) error {
		got, err := s.run(ctx, limitsScript, append([]string{queue}, keys...)...)
		if err != nil {
			return err
		}
		q := job.LaneQueue{Running: int(number(got[2])), Full: keptTime(got[3]), Held: keptTime(got[4]), Paid: keptTime(got[5]), Overrides: int(number(got[6]))}
		if limits := text(got[1]); limits != "" {
			if err := json.Unmarshal([]byte(limits), &q.Limits); err != nil {
				return err
			}
		}
		uses = make([]job.LimitUse, len(keys))
		for i, key := range keys {
			of, err := got[7+i].ToArray()
			if err != nil {
				return err
			}
			l := job.Lane{Key: key, Running: int(number(of[0])), Full: keptTime(of[1]), Held: keptTime(of[2]), Paid: keptTime(of[3])}
			if own := text(of[4]); own != "" {
				if err := json.Unmarshal([]byte(own), &l.Own); err != nil {
					return err
				}
			}
			uses[i] = q.Use(l, keptTime(got[0]))
			uses[i].KeyFirst, uses[i].KeyDiscarded = idOf(text(of[5])), idOf(text(of[6]))
		}
		return nil
	})
	return uses, err
}

// keptTime returns the stored time of a queue or a lane; zero microseconds are the zero time.
func keptTime(m rueidis.RedisMessage) time.Time {
	if number(m) == 0 {
		return time.Time{}
	}
	return time.UnixMicro(number(m)).UTC()
}
