package job

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A cronField describes one of the fields of a spec, and the values that it may have.
type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
	day      bool     // allows ?
}

var (
	cronSecond  = cronField{name: "second", max: 59}
	cronMinute  = cronField{name: "minute", max: 59}
	cronHour    = cronField{name: "hour", max: 23}
	cronDay     = cronField{name: "day of the month", min: 1, max: 31, day: true}
	cronMonth   = cronField{name: "month", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")}
	cronWeekday = cronField{name: "day of the week", max: 6, names: strings.Fields("sun mon tue wed thu fri sat"), day: true}
)

// A cronSet is the set of values that a field allows, with a bit for each.
type cronSet uint64

func (s cronSet) has(v int) bool { return s>>v&1 != 0 }

// from returns the first value from v on, or 64.
func (s cronSet) from(v int) int { return bits.TrailingZeros64(uint64(s) >> v << v) }

// parse parses the text of the field, all lower case. star reports whether it begins with * or is ?, and last whether it contains an L.
func (f *cronField) parse(text string) (set cronSet, star, last bool, err error) {
	star = strings.HasPrefix(text, "*")
	if text == "?" && f.day {
		text, star = "*", true
	}
	for item := range strings.SplitSeq(text, ",") {
		if item == "l" && f == &cronDay {
			last = true
			continue
		}
		add, err := f.item(item)
		if err != nil {
			return 0, false, false, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		set |= add
	}
	return set, star, last, nil
}

// item parses *, a value or a range, each with or without a step.
func (f *cronField) item(text string) (cronSet, error) {
	span, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var ok bool
		if step, ok = cronNumber(stepText); !ok || step < 1 || step > f.max-f.min+1 {
			return 0, fmt.Errorf("%q is not a step: give a number from 1 to %d", stepText, f.max-f.min+1)
		}
	}
	lowText, highText, ranged := strings.Cut(span, "-")
	low, high := f.min, f.max
	if span != "*" {
		var err error
		if low, err = f.value(lowText); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if high, err = f.value(highText); err != nil {
				return 0, err
			}
			if f == &cronWeekday && high == 0 && low > 0 {
				high = 7 // fri-sun
			}
		case !stepped:
			high = low
		}
	}
	if low > high {
		return 0, fmt.Errorf("the range %s runs backwards: give two with a comma between them", span)
	}
	var set cronSet
	for v := low; v <= high; v += step {
		set |= 1 << v
	}
	if f == &cronWeekday && set.has(7) {
		set = set&^(1<<7) | 1
	}
	return set, nil
}

func (f *cronField) value(text string) (int, error) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, nil
		}
	}
	limit := f.max
	if f == &cronWeekday {
		limit = 7
	}
	if v, ok := cronNumber(text); ok && v >= f.min && v <= limit {
		return v, nil
	}
	allowed := fmt.Sprintf("a number from %d to %d", f.min, limit)
	if n := len(f.names); n > 0 {
		allowed += fmt.Sprintf(" or %s to %s", f.names[0], f.names[n-1])
	}
	switch {
	case f == &cronDay:
		allowed += ", L for the last, * or ?"
	case f.day:
		allowed += ", * or ?"
	default:
		allowed += " or *"
	}
	return 0, fmt.Errorf("%q is not allowed: give %s; ranges 1-5, steps */2 and lists 1,3 of them", text, allowed)
}

// cronNumber parses a number without a sign.
func cronNumber(text string) (int, bool) {
	v, err := strconv.ParseUint(text, 10, 16)
	return int(v), err == nil
}
