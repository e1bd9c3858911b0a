package job

import "time"

const (
	// maxGap is the longest shift forward whose skipped times tick right after it. Longer shifts are not daylight saving time: the zone has crossed
	// the date line.
	maxGap = 3 * time.Hour
	// horizon is longer than the time between any two ticks: 29 February on a certain day of the week comes after 40 years.
	horizon = 50 // years
)

// next returns the first tick after a time, in the zone of the schedule, or zero when there is none.
func (s *schedule) next(after time.Time) time.Time {
	if s.every > 0 {
		t, d := after.Unix(), s.every
		n := t / d
		if t%d < 0 {
			n--
		}
		return time.Unix((n+1)*d, 0).In(s.zone)
	}
	from := time.Unix(after.Unix()+1, 0).In(s.zone)
	end := from.AddDate(horizon, 0, 0)
	for from.Before(end) {
		tick, until := s.nextInPeriod(from, end)
		if !tick.IsZero() {
			return tick
		}
		from = until
	}
	return time.Time{}
}

// nextInPeriod returns the first tick from a time on, among those before the next shift of the clock and before end. If there is none, until is
// where to continue. Between two shifts the wall clock differs from UTC by a constant, and is handled as a time in UTC.
func (s *schedule) nextInPeriod(from, end time.Time) (tick, until time.Time) {
	start, shift := from.ZoneBounds()
	if !shift.IsZero() && !shift.After(from) {
		// After the last shift that a zone lists, Go ends each year after 365 days, so that on 31 December of a leap year (UTC) the end of the period has
		// passed already.
		shift = from.Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	until = end
	if !shift.IsZero() && shift.Before(end) {
		until = shift
	}
	offset := offsetOf(from)
	if !start.IsZero() && !s.elapsed {
		moved := offset - offsetOf(start.Add(-time.Nanosecond))
		switch {
		case moved > 0 && moved <= maxGap && !from.After(start):
			if _, missed := s.nextWall(wall(start, offset-moved), wall(start, offset)); missed {
				return start, until
			}
		case moved < 0 && from.Before(start.Add(-moved)):
			from = start.Add(-moved) // these wall times occurred before the shift
		}
	}
	if w, ok := s.nextWall(wall(from, offset), wall(until, offset)); ok {
		return w.Add(-offset).In(s.zone), until
	}
	return time.Time{}, until
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

func wall(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

// nextWall returns the first matching time of the wall clock in [from, until).
func (s *schedule) nextWall(from, until time.Time) (time.Time, bool) {
	year, month, day := from.Date()
	hour, minute, second := from.Clock()
	clock := hour*3600 + minute*60 + second
	for {
		midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		if !midnight.Before(until) {
			return time.Time{}, false
		}
		year, month, day = midnight.Date()
		if !s.month.has(int(month)) {
			month, day, clock = month+1, 1, 0
			continue
		}
		if s.matchDay(midnight) {
			if at, ok := s.nextClock(clock); ok {
				t := midnight.Add(time.Duration(at) * time.Second)
				return t, t.Before(until)
			}
		}
		day, clock = day+1, 0
	}
}

func (s *schedule) matchDay(midnight time.Time) bool {
	year, month, day := midnight.Date()
	byNumber := s.day.has(day) || s.lastDay && day == lastDayOf(year, month)
	byWeekday := s.weekday.has(int(midnight.Weekday()))
	if s.either {
		return byNumber || byWeekday
	}
	return byNumber && byWeekday
}

// nextClock returns the first matching second of a day that is not before from.
func (s *schedule) nextClock(from int) (int, bool) {
	for h := s.hour.from(from / 3600); h < 24; h = s.hour.from(h + 1) {
		from = max(from, h*3600)
		for m := s.minute.from(from / 60 % 60); m < 60; m = s.minute.from(m + 1) {
			minute := h*3600 + m*60
			if second := s.second.from(max(from-minute, 0)); second < 60 {
				return minute + second, true
			}
		}
	}
	return 0, false
}

func lastDayOf(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
