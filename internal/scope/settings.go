package scope

import (
	"log/slog"
	"slices"
	"time"
)

// Settings are what the options of a task say that concern the task itself.
type Settings struct {
	Name, ID   string
	Timeout    time.Duration
	Background bool
	Observe    Observer
	Attrs      []slog.Attr
}

// An Observer is called with what happens to a task and to those below it, in the goroutine of the task that it happens to.
type Observer interface {
	TaskStarted(path string)
	TaskEnded(path string, err error, elapsed time.Duration)
}

// JoinAttrs returns those from above and the others behind them, in a slice that nobody appends to.
func JoinAttrs(above, attrs []slog.Attr) []slog.Attr {
	if len(above) == 0 {
		return slices.Clip(attrs)
	}
	return slices.Concat(above, attrs)
}
