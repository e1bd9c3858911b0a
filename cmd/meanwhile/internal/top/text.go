package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The styles, in the 16 colors that every terminal can show legibly on its background. Without colors, the selection has its
// mark, and everything else is also expressed in words.
var (
	bold     = ansi.NewStyle().Bold()
	faint    = ansi.NewStyle().Faint()
	selected = ansi.NewStyle().Reverse(true)
	alarm    = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	warning  = ansi.NewStyle().ForegroundColor(ansi.Yellow)
	active   = ansi.NewStyle().ForegroundColor(ansi.Green)
)

// A style is the style of a text; nil means unstyled.
type style = ansi.Style

// A dress applies a style to a text.
type dress func(s style, text string) string

func styled(s style, text string) string {
	if len(s) == 0 || text == "" {
		return text
	}
	return s.Styled(text)
}

// plain ignores the style, for text inside another style.
func plain(_ style, text string) string { return text }

// columnsOf returns the width of a text in columns. Where terminals differ, it is the maximum.
func columnsOf(text string) int { return ansi.StringWidthWc(text) }

// cut shortens a text to width columns, and keeps its start.
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

// pad returns a text of exactly width columns.
func pad(text string, width int) string {
	text = cut(text, width)
	return text + spaces(width-columnsOf(text))
}

// padLeft does the same with the spaces before the text.
func padLeft(text string, width int) string {
	text = cut(text, width)
	return spaces(width-columnsOf(text)) + text
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// joinFitting joins the first parts that fit into width.
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
