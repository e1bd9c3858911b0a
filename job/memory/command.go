package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A waiting is a command that waits for its worker to fetch it.
type waiting struct {
	job.Command
	left time.Time
}

// SendCommand stores a command for a worker.
func (s *Store) SendCommand(ctx context.Context, worker string, o job.Command) error {
	what := "command to worker " + worker
	now, err := s.enter(ctx, what)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.workers[worker]; !ok {
		return fmt.Errorf("%s: %w", what, job.ErrNoWorker)
	}
	s.dropCommands(worker, now)
	if len(s.commands[worker]) >= job.MostCommands {
		return fmt.Errorf("%s: %d wait for it already", what, job.MostCommands)
	}
	s.commands[worker] = append(s.commands[worker], waiting{o, now})
	return nil
}

// takeCommands returns the commands for a worker, and deletes them.
func (s *Store) takeCommands(worker string, now time.Time) []job.Command {
	s.dropCommands(worker, now)
	var commands []job.Command
	for _, w := range s.commands[worker] {
		commands = append(commands, w.Command)
	}
	delete(s.commands, worker)
	return commands
}

// dropCommands deletes the commands that a worker has not fetched in time. They are in the order of their times.
func (s *Store) dropCommands(worker string, now time.Time) {
	list := s.commands[worker]
	for len(list) > 0 && now.Sub(list[0].left) >= job.CommandKept {
		list = list[1:]
	}
	if s.commands[worker] = list; len(list) == 0 {
		delete(s.commands, worker)
	}
}
