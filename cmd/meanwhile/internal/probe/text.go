package probe

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// Printable replaces characters that would affect a terminal, or whose width differs between terminals.
func Printable(text string) string {
	clean := func(r rune) bool { return r >= ' ' && r < 0x7f }
	for _, r := range text {
		if !clean(r) {
			return strings.Map(printableRune, text)
		}
	}
	return text
}

func printableRune(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case unicode.Is(unicode.Variation_Selector, r):
		return -1
	case r >= 0x1F1E6 && r <= 0x1F1FF: // half a flag, which terminals show in one or two columns
		return r - 0x1F1E6 + 'A'
	case !unicode.IsPrint(r):
		return '?'
	}
	return r
}

// Span formats a time in at most 6 characters.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < 10*time.Millisecond:
		return strings.Replace(fmt.Sprintf("%.1fms", d.Seconds()*1e3), ".0ms", "ms", 1)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", d.Seconds()*1e3)
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 100*time.Hour-30*time.Second:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", min(d/(24*time.Hour), 99999))
}

// Number formats a number with commas between thousands.
func Number(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, digit := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// Count formats a number of things: "1 task", "2 tasks".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Number(n) + " " + thing
}

// Waits describes what a task waits for, and how much time is left until the wait ends, if that is known. now is the time of the program.
func Waits(w inspect.Wait, now time.Time) string {
	text := w.For
	if w.Deadlock {
		text = "deadlock: " + text
	}
	if w.On != "" {
		text += " " + w.On
	}
	if !w.Until.IsZero() {
		text += ", " + Span(w.Until.Sub(now)) + " left"
	}
	return Printable(text)
}

// Place describes where a task waits: the last two elements of the file's path, the line, and the called function with the last
// element of its package path; "" if unknown.
func Place(w inspect.Wait) string {
	call := w.Call
	end := strings.IndexByte(call+"[", '[') // type parameters follow
	call = call[strings.LastIndexByte(call[:end], '/')+1:]
	if w.File == "" {
		return Printable(call)
	}
	dir, file := path.Split(strings.ReplaceAll(w.File, `\`, "/"))
	return Printable(strings.TrimSpace(path.Join(path.Base(dir), file) + ":" + strconv.Itoa(w.Line) + " " + call))
}
