package job

import (
	"errors"
	"fmt"
)

// An Override is the limits of one limit key of a queue, in place of [Limits].EachKey: for example of a customer who has paid for more. See
// Store.SetKeyLimits.
type Override struct {
	Key string `json:"key"`
	KeyLimits
}

// MaxOverrides is how many keys of a queue may have limits of their own.
const MaxOverrides = 10_000

// ErrOverrides is returned by Store.SetKeyLimits for one key more than [MaxOverrides].
var ErrOverrides = fmt.Errorf("%d keys of the queue have limits of their own, which is the most: remove those of another key first", MaxOverrides)

// CheckKeyLimits returns an error if limits for one key of a queue are invalid. Stores call it.
func CheckKeyLimits(queue, key string, l KeyLimits) error {
	if err := checkName("queue", queue); err != nil {
		return err
	}
	if key == "" {
		return errors.New("the limit key is empty: name the one that is to have limits of its own")
	}
	if err := checkLimitKey(key); err != nil {
		return err
	}
	if l.InOrder {
		return errors.New("in order: the jobs of one key alone cannot run in order: set it for each key of the queue, and leave it out here")
	}
	if l.HoldOnDiscard {
		return errors.New("hold on discard: set it for each key of the queue, as in order, and leave it out here")
	}
	return checkBounds(fmt.Sprintf(" of key %s", key), l)
}
