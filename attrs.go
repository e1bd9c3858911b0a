package meanwhile

import (
	"context"
	"log/slog"
	"slices"
)

// Attrs gives a task, and every task below it, attributes for what they log: [LogHandler] adds them to records, and so
// does every handler that asks [TaskAttrs]. For a stream they are those of its items, for Main those of all its tasks.
// Several Attrs add up. The attributes must not be changed afterwards.
func Attrs(attrs ...slog.Attr) Option { return attrsOption(attrs) }

type attrsOption []slog.Attr

func (attrsOption) taskOption()   {}
func (attrsOption) streamOption() {}
func (attrsOption) mainOption()   {}

// TaskAttrs returns the attributes of the task that ctx belongs to: those that [Attrs] gave to the tasks above it, from
// the root of the tree on, and its own. It is empty when ctx carries no task. It costs a few nanoseconds, and tasks with
// the same attributes have the same slice: do not change what is in it.
func TaskAttrs(ctx context.Context) []slog.Attr {
	n := from(ctx)
	if n == nil {
		return nil
	}
	return n.shared.attrs
}

// joinAttrs returns those from above and the others behind them, in a slice that nobody appends to.
func joinAttrs(above, attrs []slog.Attr) []slog.Attr {
	if len(above) == 0 {
		return slices.Clip(attrs)
	}
	return slices.Concat(above, attrs)
}
