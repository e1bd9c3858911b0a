package work

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// A Queue is a queue of a worker, written as name, name:concurrency or name:concurrency:weight.
type Queue job.QueueConfig

// UnmarshalText parses a queue.
func (q *Queue) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	wrong := fmt.Errorf("%.60q is not a queue such as mails, mails:10 or mails:10:3", text)
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
