package job

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A schedule is a parsed spec.
type schedule struct {
	spec  string // as given, with single spaces
	zone  *time.Location
	every int64 // seconds of an @every, which does not use the other fields

	second, minute, hour, day, month, weekday cronSet

	lastDay bool // the last day of a month matches as well
	either  bool // a day matches by its number or its weekday; else by both
	elapsed bool // runs by elapsed time, and ignores shifts of the clock
}

const (
	maxSpec  = 512 // bytes
	allHours = 1<<24 - 1
)

var cronWords = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// parseSpec parses a spec, see [Cron]. A nil zone is UTC.
func parseSpec(spec string, zone *time.Location) (*schedule, error) {
	if zone == nil {
		zone = time.UTC
	}
	if len(spec) > maxSpec {
		return nil, fmt.Errorf("cron spec %.40q… has %d bytes, at most %d are allowed", spec, len(spec), maxSpec)
	}
	s := &schedule{spec: strings.Join(strings.Fields(spec), " "), zone: zone}
	if err := s.parse(strings.ToLower(s.spec)); err != nil {
		return nil, fmt.Errorf("cron spec %q: %w", spec, err)
	}
	return s, nil
}

func (s *schedule) parse(text string) error {
	if d, ok := strings.CutPrefix(text, "@every "); ok {
		return s.parseEvery(d)
	}
	if strings.HasPrefix(text, "@") {
		fields, ok := cronWords[text]
		if !ok {
			return fmt.Errorf("%q is not known: give @hourly, @daily, @weekly, @monthly, @yearly or @every 90s", text)
		}
		text = fields
	}
	fields := strings.Fields(text)
	switch len(fields) {
	case 5:
		fields = append([]string{"0"}, fields...)
	case 6:
	default:
		return fmt.Errorf("it has %d fields: give 5 (minute, hour, day of the month, month, day of the week), "+
			"6 with the second before them, or @daily and the like", len(fields))
	}
	return s.parseFields(fields)
}

func (s *schedule) parseEvery(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return fmt.Errorf("%q is not a period: give whole seconds, at least one, such as @every 90s or @every 1h30m", text)
	}
	s.every = int64(d / time.Second)
	return nil
}

func (s *schedule) parseFields(fields []string) error {
	var star struct{ hour, day, weekday bool }
	var ignored bool
	for i, to := range []struct {
		field      *cronField
		set        *cronSet
		star, last *bool
	}{
		{&cronSecond, &s.second, &ignored, &ignored},
		{&cronMinute, &s.minute, &ignored, &ignored},
		{&cronHour, &s.hour, &star.hour, &ignored},
		{&cronDay, &s.day, &star.day, &s.lastDay},
		{&cronMonth, &s.month, &ignored, &ignored},
		{&cronWeekday, &s.weekday, &star.weekday, &ignored},
	} {
		var err error
		if *to.set, *to.star, *to.last, err = to.field.parse(fields[i]); err != nil {
			return err
		}
	}
	s.either = !star.day && !star.weekday
	s.elapsed = star.hour || s.hour == allHours
	if !s.either && !s.possible() {
		return errors.New("none of its months has such a day: it would never tick")
	}
	return nil
}

// possible reports whether a month has a day of the right number. Each date falls on every day of the week sooner or later.
func (s *schedule) possible() bool {
	if s.lastDay {
		return true
	}
	for m := s.month.from(1); m <= 12; m = s.month.from(m + 1) {
		const leapYear = 2000
		if s.day.from(1) <= lastDayOf(leapYear, time.Month(m)) {
			return true
		}
	}
	return false
}

// String returns the spec with its zone; an @every has none.
func (s *schedule) String() string {
	if s.every > 0 {
		return s.spec
	}
	return s.spec + " " + s.zone.String()
}
