package fetch

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

// A console is the output of the command: results to standard output, notes to standard error. While there is a view, lines for
// its terminal are written through it.
type console struct {
	results, notes io.Writer
	view           atomic.Pointer[terminal.View]
}

// result prints a result line.
func (c *console) result(line []byte) error {
	w := c.results
	if v := c.view.Load(); v != nil && terminal.Is(w) {
		w = v
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// note prints a line that is not a result.
func (c *console) note(line string) {
	line = printable(line) + "\n"
	if v := c.view.Load(); v != nil {
		if _, err := io.WriteString(v, line); err == nil {
			return
		}
	}
	_, _ = io.WriteString(c.notes, line)
}
