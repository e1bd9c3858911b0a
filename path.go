package meanwhile

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendPath appends to b the path of the task that ctx belongs to, as errors and trees show it, and returns the longer
// b; it returns b itself when ctx carries no task. Where b has the room, nothing is allocated.
func AppendPath(ctx context.Context, b []byte) []byte {
	n := from(ctx)
	if n == nil {
		return b
	}
	return n.appendPath(b)
}

func (n *node) appendPath(b []byte) []byte {
	if p := n.parent(); p != nil {
		b = append(p.appendPath(b), '/')
	}
	return n.appendLabel(b)
}

func (n *node) path() string {
	var room [128]byte
	return string(n.appendPath(room[:0]))
}

// label is the last part of the path.
func (n *node) label() string {
	if n.name != nil && n.kind() != kindItem {
		return n.name.text
	}
	return string(n.appendLabel(nil))
}

func (n *node) appendLabel(b []byte) []byte {
	switch {
	case n.kind() == kindItem:
		return appendItemLabel(b, uint64(n.number)-1)
	case n.name != nil:
		return append(b, n.name.text...)
	case n.kind() == kindTask:
		return strconv.AppendUint(append(b, '#'), uint64(n.number), 10)
	default:
		return append(b, kindNames[n.kind()]...)
	}
}

func appendItemLabel(b []byte, place uint64) []byte {
	return append(strconv.AppendUint(append(b, '['), place, 10), ']')
}

// A taskName is the name of a task with its ID behind it.
type taskName struct {
	text  string
	label int // so much of it is the name alone
}

func newTaskName(name, id string) *taskName {
	name, id = printable(name), printable(id)
	n := &taskName{name, len(name)}
	switch {
	case name == "":
		n.text = id
	case id != "":
		n.text += " " + id
	}
	return n
}

// printable escapes what a name may not have in a path, a label or a log line: what cannot be printed. A "/" is left as it
// is: names such as "GET /orders" are read more often than they are taken apart.
func printable(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
