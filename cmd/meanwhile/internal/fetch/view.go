package fetch

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

// progress is the content of the view at one moment.
type progress struct {
	figures
	total          int // 0 if unknown
	running, limit int
	retrying       int     // transfers that wait for their next attempt
	rate           float64 // recently ended transfers per second
	oldest         []string
}

// lines formats the progress in lines that are narrower than width.
func (p progress) lines(width int, blocks bool) []string {
	width-- // some terminals wrap at the last column
	parts := []string{
		probe.Number(p.done) + " done",
		probe.Number(p.failed+p.notURLs) + " failed",
		significant(p.rate) + "/s",
		fmt.Sprintf("%s in flight, limit %s", probe.Number(p.running), probe.Number(p.limit)),
	}
	if p.retrying > 0 {
		parts = append(parts, probe.Number(p.retrying)+" to retry")
	}
	if p.done > 0 {
		parts = append(parts, fmt.Sprintf("p50 %s, p99 %s", shortTime(p.p50), shortTime(p.p99)))
	}
	lines := []string{p.head(width, blocks)}
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = part
		case utf8.RuneCountInString(line)+2+utf8.RuneCountInString(part) <= width:
			line += "  " + part
		default:
			lines = append(lines, line)
			line = part
		}
	}
	lines = append(append(lines, line), p.oldest...)
	for i, line := range lines {
		if !blocks {
			line = ascii(line)
		}
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		lines[i] = line
	}
	return lines
}

// head is the line with the bar, or with the elapsed time if the total is unknown.
func (p progress) head(width int, blocks bool) string {
	if p.total <= 0 {
		return fmt.Sprintf("%s so far, %s", probe.Number(p.ended()), shortTime(p.elapsed))
	}
	share := min(1, float64(p.ended())/float64(p.total))
	text := fmt.Sprintf("  %3.0f%%  %s/%s", 100*share, probe.Number(p.ended()), probe.Number(p.total))
	if p.rate > 0 {
		left := float64(p.total-p.ended()) / p.rate
		text += "  " + shortTime(time.Duration(min(left, 1e9)*float64(time.Second))) + " left"
	}
	space := min(barWidth, width-utf8.RuneCountInString(text))
	if space < 5 {
		return strings.TrimSpace(text)
	}
	return terminal.Bar(share, space, blocks, true) + text
}

// A meter measures the growth of a count over about the last five seconds.
type meter struct {
	samples []sample // oldest first
}

type sample struct {
	at    time.Time
	count int
}

func (m *meter) rate(now time.Time, count int) float64 {
	m.samples = append(m.samples, sample{now, count})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= 5*time.Second {
		m.samples = m.samples[1:]
	}
	if len(m.samples) > 256 {
		m.samples = append(m.samples[:0:0], m.samples[len(m.samples)/2:]...)
	}
	oldest := m.samples[0]
	passed := now.Sub(oldest.at).Seconds()
	if passed <= 0 {
		return 0
	}
	return float64(count-oldest.count) / passed
}
