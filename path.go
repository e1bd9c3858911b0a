package meanwhile

import (
	"context"
	"strconv"
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
	if n.name != "" && n.kind() != kindItem {
		return n.name
	}
	return string(n.appendLabel(nil))
}

func (n *node) appendLabel(b []byte) []byte {
	switch {
	case n.kind() == kindItem:
		return appendItemLabel(b, uint64(n.number.Load())-1)
	case n.name != "":
		return append(b, n.name...)
	case n.kind() == kindTask:
		return strconv.AppendUint(append(b, '#'), uint64(n.number.Load()), 10)
	default:
		return append(b, kindNames[n.kind()]...)
	}
}

func appendItemLabel(b []byte, place uint64) []byte {
	return append(strconv.AppendUint(append(b, '['), place, 10), ']')
}
