package job

import (
	"strconv"
	"strings"
	"time"
)

// A naive cron implements nothing but the rules: it checks every second, or minute, of a wall clock.
type naive struct {
	fields  []string
	zone    *time.Location
	elapsed bool
}

func newNaive(spec string, zone *time.Location) naive {
	spec = strings.ToLower(spec)
	switch spec = strings.Join(strings.Fields(spec), " "); spec {
	case "@hourly":
		spec = "0 * * * *"
	case "@daily", "@midnight":
		spec = "0 0 * * *"
	case "@weekly":
		spec = "0 0 * * sun"
	case "@monthly":
		spec = "0 0 1 * *"
	case "@yearly", "@annually":
		spec = "0 0 1 jan *"
	}
	n := naive{fields: strings.Fields(spec), zone: zone, elapsed: true}
	if len(n.fields) == 5 {
		n.fields = append([]string{"0"}, n.fields...)
	}
	if !strings.HasPrefix(n.fields[2], "*") {
		for h := range 24 {
			n.elapsed = n.elapsed && naiveField(n.fields[2], h, 0, 23)
		}
	}
	return n
}

// ticks returns the ticks in (after, until]. It starts well before after, so that it knows which wall times have already occurred.
func (n naive) ticks(after, until time.Time, step time.Duration) []time.Time {
	const wallForm = "2006-01-02 15:04:05"
	var ticks []time.Time
	t := after.Add(-30 * time.Hour).Truncate(step).In(n.zone)
	shown := t.Format(wallForm)
	for highest := ""; !t.After(until); t = t.Add(step) {
		before := shown
		shown = t.Format(wallForm)
		match := n.match(shown)
		if !n.elapsed {
			from, _ := time.Parse(wallForm, before)
			to, _ := time.Parse(wallForm, shown)
			if gap := to.Sub(from) - step; gap > 0 && gap <= 3*time.Hour {
				for w := from.Add(step); w.Before(to); w = w.Add(step) {
					match = match || n.match(w.Format(wallForm))
				}
			}
			match = match && shown > highest
			highest = max(highest, shown)
		}
		if match && t.After(after) {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func (n naive) match(shown string) bool {
	at, _ := strconv.Atoi(shown[:4])
	month, _ := strconv.Atoi(shown[5:7])
	day, _ := strconv.Atoi(shown[8:10])
	hour, _ := strconv.Atoi(shown[11:13])
	minute, _ := strconv.Atoi(shown[14:16])
	second, _ := strconv.Atoi(shown[17:19])
	if !naiveField(n.fields[0], second, 0, 59) || !naiveField(n.fields[1], minute, 0, 59) ||
		!naiveField(n.fields[2], hour, 0, 23) || !naiveField(n.fields[4], month, 1, 12) {
		return false
	}
	date := time.Date(at, time.Month(month), day, 12, 0, 0, 0, time.UTC)
	byDay := naiveField(n.fields[3], day, 1, 31)
	for part := range strings.SplitSeq(n.fields[3], ",") {
		byDay = byDay || part == "l" && date.AddDate(0, 0, 1).Day() == 1
	}
	weekday := int(date.Weekday())
	byWeekday := naiveField(n.fields[5], weekday, 0, 6) || weekday == 0 && naiveSeven(n.fields[5])
	free := func(f string) bool { return f[0] == '*' || f == "?" }
	if free(n.fields[3]) || free(n.fields[5]) {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

func naiveSeven(field string) bool {
	for part := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(part, "/")
		low, high, ranged := strings.Cut(span, "-")
		if !ranged {
			if low == "7" {
				return true
			}
			continue
		}
		if naiveValue(high) == 7 || naiveValue(high) == 0 && naiveValue(low) > 0 {
			by := 1
			if stepped {
				by, _ = strconv.Atoi(step)
			}
			if (7-naiveValue(low))%by == 0 {
				return true
			}
		}
	}
	return false
}

func naiveField(field string, v, low, high int) bool {
	if field == "?" {
		return true
	}
	for part := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to := low, high
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			from = naiveValue(first)
			switch {
			case ranged:
				if to = naiveValue(last); from > to {
					to = 7
				}
			case !stepped:
				to = from
			}
		}
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		for at := from; at >= 0 && at <= to; at += by {
			if at == v {
				return true
			}
		}
	}
	return false
}

func naiveValue(text string) int {
	for i, name := range []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"} {
		if text == name {
			return i + 1
		}
	}
	for i, name := range []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} {
		if text == name {
			return i
		}
	}
	if v, err := strconv.Atoi(text); err == nil {
		return v
	}
	return -1
}
