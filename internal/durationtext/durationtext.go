// Package durationtext formats durations for people, as the command and the dashboard say when something starts again.
package durationtext

import (
	"strings"
	"time"
)

// Short formats a duration without units that are zero or too small to matter, such as 12.4s, 3m and 19h52m.
func Short(d time.Duration) string {
	to := time.Millisecond
	switch {
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
