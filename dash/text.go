package dash

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var functions = template.FuncMap{
	"number": number,
	"count":  count,
	"span":   span,
	"exact":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"short":  short,
	"join":   func(list []string) string { return strings.Join(list, ", ") },
	"bytes":  bytesText,
	"tenth":  func(part int) string { return strconv.FormatFloat(float64(part)/10, 'f', 1, 64) },
	"oneline": func(text string) string {
		return clip(strings.Join(strings.Fields(text), " "), 200)
	},
}

// number formats an integer of any type with commas between thousands.
func number(n any) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, digit := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// count formats a number of things: "1 job", "2 jobs".
func count(n any, thing string) string {
	text := number(n)
	if text != "1" {
		thing += "s"
	}
	return text + " " + thing
}

// either returns the singular text or the plural text for n.
func either(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// span formats a duration for people, with about two digits. dash.js does the same.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Millisecond:
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + " s"
	case d < time.Hour:
		return pair(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return pair(d, time.Hour, "h", time.Minute, "min")
	}
	return pair(d, 24*time.Hour, "d", time.Hour, "h")
}

func pair(d, large time.Duration, name string, small time.Duration, rest string) string {
	text := strconv.FormatInt(int64(d/large), 10) + " " + name
	if left := d % large / small; left > 0 && d < 10*large {
		text += " " + strconv.FormatInt(int64(left), 10) + " " + rest
	}
	return text
}

// ago formats how long ago something was, in whole units; a negative duration is in the future.
func ago(d time.Duration) string {
	whole := func(d time.Duration) string {
		switch {
		case d < time.Minute:
			return strconv.FormatInt(int64(d/time.Second), 10) + " s"
		case d < time.Hour:
			return strconv.FormatInt(int64(d/time.Minute), 10) + " min"
		case d < 48*time.Hour:
			return strconv.FormatInt(int64(d/time.Hour), 10) + " h"
		}
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + " d"
	}
	switch {
	case d > -time.Second && d < time.Second:
		return "now"
	case d < 0:
		return "in " + whole(-d)
	}
	return whole(d) + " ago"
}

// due is ago for an event that has not happened yet. dash.js does the same.
func due(d time.Duration) string {
	if d >= time.Second {
		return "due " + ago(d)
	}
	return ago(d)
}

// short returns the end of an ID, which differs most between IDs.
func short(id job.ID) string {
	text := id.String()
	return text[len(text)-8:]
}

func bytesText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	size, unit := float64(n), 0
	for size >= 999.5 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if size < 10 && unit > 0 {
		return strconv.FormatFloat(size, 'f', 1, 64) + " " + units[unit]
	}
	return strconv.FormatFloat(size, 'f', 0, 64) + " " + units[unit]
}

// clip shortens a text that is too long to show.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
