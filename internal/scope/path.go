package scope

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendPath appends the path of n to b.
func (n *Node) AppendPath(b []byte) []byte {
	if p := n.Parent; p != nil {
		b = append(p.AppendPath(b), '/')
	}
	return n.AppendLabel(b)
}

func (n *Node) Path() string {
	var buf [128]byte
	return string(n.AppendPath(buf[:0]))
}

// Label returns the last part of the path.
func (n *Node) Label() string {
	if n.name != nil && n.Kind() != KindItem {
		return n.name.text
	}
	return string(n.AppendLabel(nil))
}

// AppendLabel appends the last part of the path to b.
func (n *Node) AppendLabel(b []byte) []byte {
	switch {
	case n.Kind() == KindItem:
		return AppendItemLabel(b, uint64(n.Number)-1)
	case n.name != nil:
		return append(b, n.name.text...)
	case n.Kind() == KindTask:
		return strconv.AppendUint(append(b, '#'), uint64(n.Number), 10)
	default:
		return append(b, KindNames[n.Kind()]...)
	}
}

func AppendItemLabel(b []byte, place uint64) []byte {
	return append(strconv.AppendUint(append(b, '['), place, 10), ']')
}

// A taskName is the name of a task, followed by its ID.
type taskName struct {
	text  string
	label int // the length of the name without the ID
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

// printable escapes what must not be in a path, a label or a log line: characters that cannot be printed. It keeps "/": names such as "GET /orders"
// are read more often than they are parsed.
func printable(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}
