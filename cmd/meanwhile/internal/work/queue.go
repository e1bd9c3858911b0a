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
	if parts[0] == "" || len(parts) > 3 {
		return fmt.Errorf("%.60q is not a queue such as mails, mails:10 or mails:10:3", text)
	}
	q.Name = parts[0]
	var err error
	if len(parts) > 1 {
		if q.Concurrency, err = strconv.Atoi(parts[1]); err != nil || q.Concurrency < 1 {
			return fmt.Errorf("%.60q: the number of jobs at once is not a whole number above 0, as in mails:10", text)
		}
	}
	if len(parts) > 2 {
		if q.Weight, err = strconv.Atoi(parts[2]); err != nil || q.Weight < 1 {
			return fmt.Errorf("%.60q: the weight is not a whole number above 0, as in mails:10:3", text)
		}
	}
	return nil
}
