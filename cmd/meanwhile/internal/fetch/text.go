package fetch

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// shortSize formats a number of bytes in at most 6 characters.
func shortSize(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + "B"
	}
	x := float64(n)
	units := "kMGTPE"
	for i := range units {
		x /= 1000
		switch {
		case x < 9.95:
			return fmt.Sprintf("%.1f%cB", x, units[i])
		case x < 999.5:
			return fmt.Sprintf("%.0f%cB", x, units[i])
		}
	}
	return "many"
}

// shortTime formats a time in at most 7 characters.
func shortTime(d time.Duration) string {
	switch {
	case d < 100*time.Microsecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < 9950*time.Microsecond:
		return strings.Replace(fmt.Sprintf("%.1fms", d.Seconds()*1e3), ".0ms", "ms", 1)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", d.Seconds()*1e3)
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 100*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// printable replaces characters that would affect a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
