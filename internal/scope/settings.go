package scope

import (
	"log/slog"
	"slices"
	"time"
)

// Settings are the options of a task that concern the task itself.
type Settings struct {
	Name, ID   string
	Timeout    time.Duration
	Background bool
	Observe    Observer
	Attrs      []slog.Attr
}

// An Observer is called when a task, or a task below it, starts or ends, in the goroutine of the task that starts or ends.
type Observer interface {
	TaskStarted(path string)
	TaskEnded(path string, err error, elapsed time.Duration)
}

// JoinAttrs returns the attributes from above, followed by the others, in a slice that is not appended to.
func JoinAttrs(above, attrs []slog.Attr) []slog.Attr {
	if len(above) == 0 {
		return slices.Clip(attrs)
	}
	return slices.Concat(above, attrs)
}
