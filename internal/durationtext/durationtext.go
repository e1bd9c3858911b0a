// Package durationtext formats durations for people. The command and the dashboard use it for the time until something starts again.
package durationtext

import (
	"strconv"
	"strings"
	"time"
)

// Short formats a duration without units that are zero or too small to matter, such as 12.4s, 3m, 19h52m and 20d3h.
func Short(d time.Duration) string {
	const day, days = 24 * time.Hour, 100 * time.Hour // from days on, a duration is shown in days and hours
	to := time.Millisecond
	switch {
	case d >= days:
		d = d.Round(time.Hour)
		text := strconv.FormatInt(int64(d/day), 10) + "d"
		if hours := int64(d % day / time.Hour); hours > 0 {
			text += strconv.FormatInt(hours, 10) + "h"
		}
		return text
	case d >= time.Hour:
		to = time.Minute
	case d >= time.Minute:
		to = time.Second
	case d >= time.Second:
		to = 100 * time.Millisecond
	}
	text := d.Round(to).String()
	if minutes, whole := strings.CutSuffix(text, "m0s"); whole {
		text = minutes + "m"
	}
	if hours, whole := strings.CutSuffix(text, "h0m"); whole {
		text = hours + "h"
	}
	return text
}
