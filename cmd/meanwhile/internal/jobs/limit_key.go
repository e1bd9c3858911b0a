package jobs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/durationtext"
	"github.com/meanwhile-go/meanwhile/job"
)

// ofKey shows or sets the limits of one key.
func (l *Limit) ofKey(ctx context.Context, s job.Store, change, asJSON bool, streams probe.Streams) error {
	key := *l.Key
	if err := job.CheckKeyLimits(l.Queue, key, job.KeyLimits{}); err != nil {
		return fmt.Errorf("limits of a key of queue %s: %w", l.Queue, err)
	}
	uses, err := s.Limits(ctx, l.Queue, key)
	if err != nil {
		return err
	}
	use := uses[0]
	if change {
		if use.Own = l.changedKey(use.Own); l.Remove {
			use.Own = job.KeyLimits{}
		}
		done := job.AuditEntry{Action: "set limits of key", Target: l.Queue + " " + key + " " + use.Own.String(), Changed: 1}
		if err := recorded(ctx, s, streams, done, s.SetKeyLimits(ctx, l.Queue, key, use.Own)); err != nil {
			return err
		}
	}
	if asJSON {
		return writeJSON(streams.Out, job.Override{Key: key, KeyLimits: use.Own})
	}
	_, err = fmt.Fprint(streams.Out, describeKeyLimits(l.Queue, key, use))
	return err
}

// changedKey returns limits of a key in which the given flags are set.
func (l *Limit) changedKey(to job.KeyLimits) job.KeyLimits {
	change(&to.Running, l.Running)
	changeRate(&to.Starts, l.Starts)
	changeRate(&to.Units, l.Units)
	change(&to.InOrder, l.KeyInOrder)
	change(&to.HoldOnDiscard, l.KeyHoldOnDiscard)
	change(&to.Weight, l.Weight)
	return to
}

func describeKeyLimits(queue, key string, use job.LimitUse) string {
	whose := ", limits of its own"
	if use.Own == (job.KeyLimits{}) {
		whose = ", limits of each key"
	}
	of := use.OfKey(use.Own)
	lines := [][2]string{
		{"queue", probe.Printable(queue)},
		{"key", probe.Printable(key) + whose},
		{"running", most(of.Running) + ", " + probe.Number(use.KeyRunning) + " run"},
		{"starts", of.Starts.String()},
		{"units", of.Units.String()},
		{"weight", probe.Number(cmp.Or(of.Weight, 1))},
	}
	if of.InOrder {
		lines[2][1] = "1, in order, " + probe.Number(use.KeyRunning) + " run"
	}
	if use.KeyHeld > 0 {
		lines = append(lines, [2]string{"throttled", "starts again in " + durationtext.Short(use.KeyHeld)})
	}
	return inColumns(lines)
}

// keysAtOnce is how many keys are read in one call.
const keysAtOnce = 1000

// list lists the keys that have their own limits.
func (l *Limit) list(ctx context.Context, s job.Store, c *Command, streams probe.Streams) error {
	var rows []row
	for after := ""; ; {
		found, err := s.Overrides(ctx, l.Queue, after, keysAtOnce)
		if err != nil {
			return err
		}
		for _, o := range found {
			if c.JSON {
				if err := writeJSON(streams.Out, o); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, row{cells: []string{o.Key, most(o.Running), o.Starts.String(), o.Units.String(), probe.Number(cmp.Or(o.Weight, 1))}})
		}
		if len(found) < keysAtOnce {
			break
		}
		after = found[len(found)-1].Key
	}
	return c.table(streams, rows, "No limit key of queue "+probe.Printable(l.Queue)+" has limits of its own.", column{title: "KEY", least: 12},
		column{title: "RUNNING", right: true}, column{title: "STARTS"}, column{title: "UNITS"}, column{title: "WEIGHT", right: true})
}
