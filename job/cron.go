package job

import (
	"strings"
	"time"
)

// A Cron enqueues a job repeatedly, at the times of a spec. All workers that have it in their Config share its ticks: each is
// enqueued once, by whichever worker comes first; there is no leader.
//
// A spec has five fields: minute (0-59), hour (0-23), day of the month (1-31, L for the last), month (1-12 or jan-dec) and
// day of the week (0-7 or sun-sat; 0 and 7 are Sunday); with six, the first is the second (0-59). A field is *, a value, a
// range 8-18, either of these with a step such as */5 or 8-18/2, or a list of them with commas; 5/15 is 5-59/15. ? is * for
// the two fields of days. When both of these are restricted, a day needs to match only one of them; one that begins with *
// does not count as restricted. @hourly, @daily (or @midnight), @weekly, @monthly and @yearly (or @annually) stand for the
// usual specs. "@every 90s" ticks at the multiples of 90 s since 1970, whatever the time zone.
//
// When the clock of the zone is set forward, as for daylight saving time, the skipped times tick once, right after; when it is set back, a time
// that occurs twice ticks the first time only. A spec whose hour begins with *, or names all hours, runs by elapsed time instead: "*/10 * * * *"
// ticks every ten minutes, whatever happens to the clock. A day that a zone skips has no ticks of its own.
type Cron struct {
	Name    string         // must never change: stores know the cron by it
	Spec    string         // see above
	Zone    *time.Location // of the spec; default UTC
	CatchUp CatchUp        // what happens to ticks that were missed
	// Job creates the job of a tick. It is called by every worker, with the time of the tick, in Zone. A nil job skips the tick.
	Job func(tick time.Time) (*Job, error)
}

// A CatchUp decides what happens to ticks that were missed because no worker with the cron ran at the time, or because the store
// was unreachable, or the machine asleep, until the next tick came. A single tick that a running worker enqueues within a minute
// is late, not missed.
type CatchUp int

const (
	CatchUpLast CatchUp = iota // the newest of them is enqueued late, unless a later tick is due by then
	CatchUpNone                // none is enqueued
	CatchUpAll                 // each is enqueued, at most the 1,000 newest
)

// Upcoming returns the next n ticks after a time, or fewer if there are no more. It returns none for a spec of another version of this
// module, or for one in a time zone that this system does not have.
func (c *CronInfo) Upcoming(after time.Time, n int) []time.Time {
	spec, zone := c.Spec, time.UTC
	if !strings.HasPrefix(strings.ToLower(spec), "@every ") {
		i := strings.LastIndexByte(spec, ' ')
		if i < 0 {
			return nil
		}
		name := spec[i+1:]
		if name == "" || name == "Local" { // a zone without a name, or one that differs between machines
			return nil
		}
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			return nil
		}
		spec = spec[:i]
	}
	s, err := parseSpec(spec, zone)
	if err != nil {
		return nil
	}
	var ticks []time.Time
	for at := s.next(after); !at.IsZero() && len(ticks) < n; at = s.next(at) {
		ticks = append(ticks, at)
	}
	return ticks
}

// Maker returns a function for Cron.Job that creates a job of the kind with these args at each tick.
func (k *Kind[T]) Maker(args T, opts ...EnqueueOption) func(tick time.Time) (*Job, error) {
	return func(time.Time) (*Job, error) { return k.New(args, opts...) }
}
