package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// SendCommand stores a command for a worker.
func (s *Store) SendCommand(ctx context.Context, worker string, o job.Command) error {
	return s.call(ctx, "command to worker "+worker, func(ctx context.Context) error {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		m, err := s.runOne(ctx, orderScript, worker, strconv.Itoa(job.MostCommands), span(job.CommandKept), string(text))
		switch {
		case err != nil:
			return err
		case number(m) == 0:
			return job.ErrNoWorker
		case number(m) < 0:
			return fmt.Errorf("%d wait for it already", job.MostCommands)
		}
		return nil
	})
}
