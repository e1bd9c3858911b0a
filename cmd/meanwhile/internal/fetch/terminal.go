package fetch

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of a terminal.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return max(20, width)
}

// movesCursor reports whether the view can be drawn: on a dumb terminal the cursor cannot go up.
func movesCursor() bool { return os.Getenv("TERM") != "dumb" }

// drawsBlocks reports whether the terminal shows more than ASCII.
func drawsBlocks() bool {
	if !movesCursor() {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
