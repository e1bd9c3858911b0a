package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// SetKeyLimits sets limits of one key of a queue.
func (s *Store) SetKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	what := fmt.Sprintf("set limits of key %s of queue %s", key, queue)
	if err := job.CheckKeyLimits(queue, key, l); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.call(ctx, what, func(ctx context.Context) error {
		text, numbers := "", ""
		if l != (job.KeyLimits{}) {
			encoded, err := json.Marshal(l)
			if err != nil {
				return err
			}
			text = string(encoded)
			numbers = strings.Join([]string{fmt.Sprint(l.Running), rateNumbers(l.Starts), rateNumbers(l.Units), fmt.Sprint(l.Weight)}, " ")
		}
		kept, err := s.runOne(ctx, overrideScript, queue, key, text, numbers, strconv.Itoa(job.MaxOverrides))
		if err == nil && number(kept) == 0 {
			err = job.ErrOverrides
		}
		return err
	})
}

// Overrides returns the limits of single keys of a queue.
func (s *Store) Overrides(ctx context.Context, queue, after string, n int) (found []job.Override, err error) {
	err = s.call(ctx, "limits of keys of queue "+queue, func(ctx context.Context) error {
		rows, err := s.run(ctx, overridesScript, queue, after, strconv.Itoa(max(n, 0)))
		if err != nil {
			return err
		}
		found = make([]job.Override, len(rows))
		for i := range rows {
			row := texts(rows[i])
			found[i].Key = row[0]
			if err := json.Unmarshal([]byte(row[1]), &found[i].KeyLimits); err != nil {
				return fmt.Errorf("limits of key %s: %w", row[0], err)
			}
		}
		return nil
	})
	return found, err
}
