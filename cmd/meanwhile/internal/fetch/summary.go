package fetch

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

const (
	maxListed = 20 // transfers listed as not done
	barWidth  = 40
)

// summarize writes the summary, at most 80 columns wide.
func summarize(w io.Writer, f figures, outcomes []outcomeCount, spans []span, blocks bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s in %s: %s done, %s failed", probe.Count(f.done+f.failed, "URL"), shortTime(f.elapsed), probe.Number(f.done), probe.Number(f.failed))
	if f.notURLs > 0 {
		fmt.Fprintf(&b, ", %s without a URL", probe.Count(f.notURLs, "line"))
	}
	fmt.Fprintf(&b, ", %s\n", shortSize(f.bytes))
	if f.done+f.failed > 0 {
		fmt.Fprintf(&b, "one after the other %s; ideal, the longest alone, %s", shortTime(f.sum), shortTime(f.longest))
		if gain := f.sum.Seconds() / f.elapsed.Seconds(); gain >= 1.1 {
			fmt.Fprintf(&b, "; %s times faster", significant(gain))
		}
		b.WriteString("\n\n" + tabulate(outcomes))
	}
	if f.done > 0 {
		fmt.Fprintf(&b, "\np50 %s  p90 %s  p99 %s  max %s\n\n", shortTime(f.p50), shortTime(f.p90), shortTime(f.p99), shortTime(f.slowest))
		b.WriteString(histogram(spans, blocks))
	}
	text := b.String()
	if !blocks {
		text = ascii(text)
	}
	_, _ = io.WriteString(w, text)
}

// histogram draws a line for each span.
func histogram(spans []span, blocks bool) string {
	most := 0
	for _, s := range spans {
		most = max(most, s.count)
	}
	var b strings.Builder
	for _, s := range spans {
		bar := terminal.Bar(float64(s.count)/float64(most), barWidth, blocks, false)
		bar += strings.Repeat(" ", barWidth-utf8.RuneCountInString(bar))
		end := shortTime(s.end)
		if s.end < time.Minute {
			end = s.end.String() // 1s, not 1.00s, since the end is round
		}
		fmt.Fprintf(&b, "  up to %6s  %s  %s\n", end, bar, probe.Number(s.count))
	}
	return b.String()
}

// significant formats a factor with at least two digits.
func significant(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return probe.Number(int(x + 0.5))
}

// ascii replaces characters that a terminal without Unicode cannot show.
func ascii(text string) string {
	return strings.NewReplacer("µ", "u", "…", "...").Replace(text)
}

// listRest writes what was not done: the transfers, up to a limit, and the position from which on nothing was started.
func listRest(w io.Writer, f figures, rest []*transfer, in *input) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nInterrupted: %s done, %s failed, %s started or waiting and not done", probe.Number(f.done), probe.Number(f.failed), probe.Number(len(rest)))
	for i, t := range rest {
		if i == maxListed {
			fmt.Fprintf(&b, "\n  and %s more", probe.Number(len(rest)-i))
			break
		}
		fmt.Fprintf(&b, "\n  %s", printable(t.at.String()+"  "+t.url.Redacted()))
	}
	if at, more := in.unread(); more {
		if at.source == fromArguments {
			fmt.Fprintf(&b, "\nNot started: from argument %d of %d on", at.line, len(in.arguments))
			if in.reader != nil {
				fmt.Fprintf(&b, ", then %s", printable(in.name))
			}
		} else {
			fmt.Fprintf(&b, "\nNot started: %s from line %d on", printable(at.source), at.line)
		}
	}
	b.WriteString("\n")
	_, _ = io.WriteString(w, b.String())
}
