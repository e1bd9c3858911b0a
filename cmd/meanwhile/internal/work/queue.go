package work

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
	"github.com/meanwhile-go/meanwhile/job"
)

// A queue is one to work on, written as name, name:concurrency or name:concurrency:weight.
type queue job.QueueConfig

// UnmarshalText reads a queue.
func (q *queue) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	wrong := fmt.Errorf("%.60q is no queue such as mails, mails:10 or mails:10:3", text)
	if parts[0] == "" || len(parts) > 3 {
		return wrong
	}
	q.Name = parts[0]
	for i, n := range []*int{&q.Concurrency, &q.Weight} {
		if len(parts) <= i+1 {
			break
		}
		var err error
		if *n, err = strconv.Atoi(parts[i+1]); err != nil || *n < 1 {
			return wrong
		}
	}
	return nil
}

// queues names the queues.
func (c *Command) queues() string {
	names := make([]string, len(c.Queue))
	for i, q := range c.Queue {
		names[i] = inspect.Printable(q.Name)
	}
	if len(names) == 1 {
		return "queue " + names[0]
	}
	return "queues " + strings.Join(names, ", ")
}

func (c *Command) has(name string) bool {
	return slices.ContainsFunc(c.Queue, func(q queue) bool { return q.Name == name })
}
