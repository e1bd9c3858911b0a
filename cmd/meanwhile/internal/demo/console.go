package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

const (
	barWidth  = 40
	nameWidth = 13
	plainEach = 5 * time.Second // interval of progress lines when stderr is not a terminal
)

// A console is the output of the demo: lines to standard output, the progress to standard error.
type console struct {
	out, err io.Writer
	blocks   bool // characters beyond ASCII can be shown
}

func newConsole(streams probe.Streams) console {
	return console{streams.Out, streams.Err, terminal.DrawsBlocks()}
}

func (c console) line(format string, args ...any) { c.print(fmt.Sprintf(format, args...) + "\n") }

// print prints lines.
func (c console) print(text string) { _, _ = io.WriteString(c.out, c.fit(text)) }

// fit replaces characters that a terminal without Unicode cannot show.
func (c console) fit(text string) string {
	if c.blocks {
		return text
	}
	return strings.NewReplacer("µ", "u", "–", "-", "×", "x", "…", "...").Replace(text)
}

// watch shows progress until hide is called: as a bar on a terminal, and otherwise as a line at intervals.
func (c console) watch(ctx context.Context, name string, of int, done func() int) (hide func()) {
	if f, ok := c.err.(*os.File); ok && terminal.Is(f) && terminal.MovesCursor() {
		return terminal.NewView(f, func(width int) []string { return []string{c.bar(width, name, done(), of)} }).Close
	}
	lines := meanwhile.Every(ctx, plainEach, func(context.Context) error {
		c.line("%-*s %s of %s", nameWidth, name, probe.Number(done()), probe.Number(of))
		return nil
	}, meanwhile.Name("progress"))
	return func() { lines.Cancel(meanwhile.Stop) }
}

// bar returns a line with a progress bar that is narrower than width.
func (c console) bar(width int, name string, done, of int) string {
	name = fmt.Sprintf("%-*s ", nameWidth, name)
	text := fmt.Sprintf("  %3.0f%%  %s/%s", 100*float64(done)/float64(of), probe.Number(done), probe.Number(of))
	space := min(barWidth, width-1-utf8.RuneCountInString(name+text))
	if space < 5 {
		return strings.TrimSpace(text)
	}
	return name + terminal.Bar(float64(done)/float64(of), space, c.blocks, true) + text
}
