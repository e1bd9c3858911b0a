package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The styles, in the 16 colors that a terminal has set to be read on its background. Without color the selection has its
// mark, and words say the rest.
var (
	bold     = ansi.NewStyle().Bold()
	faint    = ansi.NewStyle().Faint()
	selected = ansi.NewStyle().Reverse(true)
	alarm    = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	warning  = ansi.NewStyle().ForegroundColor(ansi.Yellow)
	active   = ansi.NewStyle().ForegroundColor(ansi.Green)
)

// A style is how a text looks; nil is as it is.
type style = ansi.Style

// A dress puts a text into a style.
type dress func(s style, text string) string

func styled(s style, text string) string {
	if len(s) == 0 || text == "" {
		return text
	}
	return s.Styled(text)
}

// plain leaves the style away, inside of another.
func plain(_ style, text string) string { return text }

// columnsOf is how many columns a text takes. Where terminals differ, it is the most that any takes.
func columnsOf(text string) int { return ansi.StringWidthWc(text) }

// cut shortens a text to width columns.
func cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.TruncateWc(text, width, "…")
}

// cutLeft shortens a text to width columns and keeps its end.
func cutLeft(text string, width int) string {
	over := columnsOf(text) - width
	if over <= 0 {
		return text
	}
	if width <= 0 {
		return ""
	}
	return cut(ansi.TruncateLeftWc(text, over+1, "…"), width)
}

// pad makes a text exactly width columns wide.
func pad(text string, width int) string {
	text = cut(text, width)
	return text + spaces(width-columnsOf(text))
}

// padLeft does it with the spaces before the text.
func padLeft(text string, width int) string {
	text = cut(text, width)
	return spaces(width-columnsOf(text)) + text
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// joinFitting joins the parts that fit into width, the first ones first.
func joinFitting(parts []string, separator string, width int) string {
	line := ""
	for i, part := range parts {
		switch {
		case part == "":
		case line == "":
			line = cut(part, width)
		case columnsOf(line+separator+part) <= width:
			line += separator + part
		default:
			if rest := strings.Join(parts[i:], ""); rest != "" && columnsOf(line)+2 <= width {
				line += " …"
			}
			return line
		}
	}
	return line
}

func splitLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
