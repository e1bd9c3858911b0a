package syslog

import (
	"bytes"
	"time"
)

// A minute caches the minute of the last date of RFC 3339, since the next date usually has the same one.
type minute struct {
	text  [17]byte // "2026-05-04T03:02:"
	begin int64    // seconds since 1970
}

// cut cuts a date of RFC 3339 off, with up to nine digits of a second's fraction.
func (m *minute) cut(text []byte) (nanoseconds int64, rest []byte, ok bool) {
	const form = "2026-05-04T03:02:01"
	if len(text) <= len(form) {
		return 0, nil, false
	}
	if begin := (*[17]byte)(text); *begin != m.text {
		year, month, day := two(text)*100+two(text[2:]), two(text[5:]), two(text[8:])
		hour, minute := two(text[11:]), two(text[14:])
		if text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
			year < 1678 || year > 2261 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || // 64 bits hold no more
			uint(hour) > 23 || uint(minute) > 59 {
			return 0, nil, false
		}
		m.text, m.begin = *begin, days(year, month, day)*86_400+int64(hour*3600+minute*60)
	}
	second := two(text[17:])
	if uint(second) > 60 {
		return 0, nil, false
	}
	seconds := m.begin + int64(second)
	fraction, rest := cutFraction(text[len(form):])
	switch {
	case len(rest) >= 1 && (rest[0] == 'Z' || rest[0] == 'z'):
		return seconds*1e9 + fraction, rest[1:], true
	case len(rest) >= 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':':
		hour, minute := two(rest[1:]), two(rest[4:])
		if uint(hour) > 23 || uint(minute) > 59 {
			return 0, nil, false
		}
		if offset := int64(hour*3600 + minute*60); rest[0] == '+' {
			seconds -= offset
		} else {
			seconds += offset
		}
		return seconds*1e9 + fraction, rest[6:], true
	}
	return 0, nil, false
}

// cutFraction cuts ".123" off, in nanoseconds. Digits after the ninth are ignored.
func cutFraction(text []byte) (nanoseconds int64, rest []byte) {
	if len(text) < 2 || text[0] != '.' {
		return 0, text
	}
	i, n := 1, int64(0)
	for i < len(text) && text[i]-'0' <= 9 {
		if i <= 9 {
			n = n*10 + int64(text[i]-'0')
		}
		i++
	}
	if i == 1 {
		return 0, text
	}
	return n * scales[min(i-1, 9)], text[i:]
}

// scales are the nanoseconds of the last digit of a fraction, by the count of digits.
var scales = [10]int64{0, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 10, 1}

// two reads two digits; the result is negative when they are none.
func two(text []byte) int {
	a, b := text[0]-'0', text[1]-'0'
	if a > 9 || b > 9 {
		return -10_000
	}
	return int(a)*10 + int(b)
}

// days returns the days from 1970 to a date, after Howard Hinnant's days_from_civil.
func days(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return int64(era*146_097+ofEra*365+ofEra/4-ofEra/100+ofYear) - 719_468
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// An hour caches the hour of the last date without a year, with the time at which it starts, since finding the year and the zone of a
// date is expensive.
type hour struct {
	text  [9]byte // "May  4 03"
	begin int64   // seconds since 1970
	now   time.Time

	checked bool // whether now was read in this call of Parse
}

// cutDate cuts the date off a message of RFC 3164 and the space that follows it: "May  4 03:02:01", also with a year or a
// fraction, or one of RFC 3339. It returns zero for none.
func (p *parser) cutDate(text []byte) (nanoseconds int64, rest []byte) {
	if len(text) > 0 && '0' <= text[0] && text[0] <= '9' {
		if stamp, rest, ok := p.minute.cut(text); ok && (len(rest) == 0 || rest[0] == ' ') {
			return stamp, rest[min(1, len(rest)):]
		}
		return 0, text
	}
	const form = "May  4 03:02:01"
	date := text
	if len(date) > 0 && (date[0] == '*' || date[0] == '.') { // Cisco's mark of a clock that is not reliable
		date = date[1:]
	}
	if len(date) < len(form) || date[3] != ' ' || date[6] != ' ' {
		return 0, text
	}
	if date[9] == ':' {
		nanoseconds, rest = p.withoutYear(date)
	} else if len(date) >= len(form)+5 && date[11] == ' ' {
		nanoseconds, rest = p.withYear(date)
	}
	if nanoseconds == 0 {
		return 0, text
	}
	fraction, rest := cutFraction(rest)
	if after, ok := p.cutYear(date, rest, &nanoseconds); ok {
		rest = after
	}
	nanoseconds += fraction
	if len(rest) > 0 && rest[0] == ':' {
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
		return nanoseconds, rest
	case rest[0] == ' ':
		return nanoseconds, rest[1:]
	}
	return 0, text
}

// withoutYear reads "May  4 03:02:01".
func (p *parser) withoutYear(date []byte) (nanoseconds int64, rest []byte) {
	clock, ok := cutClock(date[7:])
	if !ok {
		return 0, nil
	}
	if !p.hour.checked {
		if now := p.now().Round(0); now.Sub(p.hour.now).Abs() > time.Hour { // by wall time, since the clock may be set
			p.hour = hour{now: now}
		}
		p.hour.checked = true
	}
	hours := two(date[7:])
	if h := (*[9]byte)(date); p.hour.text != *h {
		month, day := monthDay(date)
		begin, ok := latest(p.hour.now, month, day, hours, p.location)
		if !ok {
			return 0, nil
		}
		p.hour.text, p.hour.begin = *h, begin
	}
	return (p.hour.begin + int64(clock-hours*3600)) * 1e9, date[15:]
}

// withYear reads "May  4 2026 03:02:01".
func (p *parser) withYear(date []byte) (nanoseconds int64, rest []byte) {
	clock, ok := cutClock(date[12:])
	year := two(date[7:])*100 + two(date[9:])
	month, day := monthDay(date)
	if !ok || year < 1678 || year > 2261 || month == 0 || day < 1 || day > daysIn(year, month) {
		return 0, nil
	}
	return time.Date(year, time.Month(month), day, 0, 0, clock, 0, p.location).UnixNano(), date[20:]
}

// cutYear cuts off " 2026 ", which some senders write after the time of day, and changes the date to that year.
func (p *parser) cutYear(date, rest []byte, nanoseconds *int64) (after []byte, ok bool) {
	if date[9] != ':' || len(rest) < 6 || rest[0] != ' ' || rest[5] != ' ' || two(rest[1:]) != 20 {
		return nil, false
	}
	year := 2000 + two(rest[3:])
	month, day := monthDay(date)
	if year < 2000 || month == 0 || day < 1 || day > daysIn(year, month) {
		return nil, false
	}
	clock, _ := cutClock(date[7:])
	*nanoseconds = time.Date(year, time.Month(month), day, 0, 0, clock, 0, p.location).UnixNano()
	return rest[5:], true
}

// cutClock reads "03:02:01", in seconds.
func cutClock(text []byte) (seconds int, ok bool) {
	hour, minute, second := two(text), two(text[3:]), two(text[6:])
	ok = text[2] == ':' && text[5] == ':' && uint(hour) <= 23 && uint(minute) <= 59 && uint(second) <= 60
	return hour*3600 + minute*60 + second, ok
}

var months = []byte("JanFebMarAprMayJunJulAugSepOctNovDec")

// monthDay reads "May  4". The month is zero if it is unknown; the caller checks the day.
func monthDay(text []byte) (month, day int) {
	if i := bytes.Index(months, text[:3]); i >= 0 && i%3 == 0 {
		month = i/3 + 1
	}
	if text[4] == ' ' {
		day = int(text[5]) - '0'
	} else {
		day = two(text[4:])
	}
	return month, day
}

// ahead is how far the clock of a sender may be ahead of this one; a date without a year that is later than that is one of the past.
const ahead = 31 * 24 * time.Hour

// latest returns when an hour of a day starts, in seconds since 1970, in the last year in which it is not too far ahead of now: on New
// Year's Eve that may be the next year.
func latest(now time.Time, month, day, hour int, location *time.Location) (begin int64, ok bool) {
	if month == 0 || day < 1 {
		return 0, false
	}
	for year := now.Year() + 1; year > now.Year()-8; year-- { // there may be so many years without a 29th of February
		if day > daysIn(year, month) {
			continue
		}
		if at := time.Date(year, time.Month(month), day, hour, 0, 0, 0, location); !at.After(now.Add(ahead)) {
			return at.Unix(), true
		}
	}
	return 0, false
}
