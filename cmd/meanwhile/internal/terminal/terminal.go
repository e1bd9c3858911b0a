// Package terminal detects the properties of the terminal that a command writes to, and shows a progress view below the printed lines.
package terminal

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns returns the width of a terminal.
func Columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return max(20, width)
}

// MovesCursor reports whether a view can be drawn: on a dumb terminal the cursor cannot be moved up.
func MovesCursor() bool { return os.Getenv("TERM") != "dumb" }

// DrawsBlocks reports whether the terminal shows more than ASCII.
func DrawsBlocks() bool {
	if !MovesCursor() {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
