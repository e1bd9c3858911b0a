package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
)

type sortOrder int

const (
	byTree sortOrder = iota
	byAge
	byWait
)

var orderNames = [...]string{"tree order", "oldest first", "longest wait first"}

// A row is a task that can be selected, or the number of tasks of its parent that are not listed.
type row struct {
	node   *inspect.Node
	parent int  // index of the parent's row, or -1
	last   bool // last of the children of its parent
	more   bool // the row stands for node.More children of node
	folded int  // number of folded descendants
}

// A key identifies a row in this snapshot and the next.
type key struct {
	id    uint32
	more  bool
	group string
}

func (r row) key() key {
	return key{id: r.node.ID, more: r.more, group: groupKey(r.node)}
}

// groupKey identifies a group of tasks, independent of which tasks are in it in a snapshot; it is empty for a single task.
func groupKey(n *inspect.Node) string {
	if n.Group == nil {
		return ""
	}
	w := n.Wait
	return fmt.Sprint(strings.TrimSuffix(n.Group[0].Path, n.Group[0].Name), n.Kind, n.State, w.For, w.Func, w.File, w.Line)
}

// A list has the rows, which of them is selected and which are on the screen.
type list struct {
	trees      []inspect.Node
	order      sortOrder
	filterText string // text of the filter
	matches    int
	rows       []row
	folded     map[uint32]bool
	opened     map[string]bool // keys of groups whose tasks are shown separately
	selected   int
	chosen     key // last selection by the user
	offset     int // index of the first row on the screen
	height     int // number of rows on the screen
}

// show replaces the trees. The selection stays on its task, and the task at its position on the screen; if the task is gone, the
// nearest row that still exists is selected.
func (l *list) show(trees []inspect.Node) {
	l.trees = trees
	l.arrange()
}

// forget removes all rows, and the state of their tasks.
func (l *list) forget() {
	clear(l.folded)
	clear(l.opened)
	l.rows, l.selected, l.offset = nil, 0, 0
}

// arrange builds the rows again, after a change of the trees, the sorting or the filter.
func (l *list) arrange() {
	old, was := l.rows, l.selected
	l.rows = l.build()
	l.selected = l.nearest(old, was)
	l.offset += l.selected - was
	l.scroll()
}

func (l *list) build() []row {
	trees := l.trees
	if l.filterText != "" {
		trees, l.matches = probe.Filter(trees, l.filterText)
	}
	var rows []row
	if l.order == byTree {
		if l.folds() {
			trees = inspect.Node{Tasks: trees}.Grouped().Tasks
		}
		return l.addTree(rows, trees, -1)
	}
	rows = l.addFlat(rows, trees)
	slices.SortStableFunc(rows, func(a, b row) int {
		x, y := a.node, b.node
		switch {
		case l.order == byAge:
			return cmp.Compare(y.Age, x.Age)
		case x.Wait.Deadlock == y.Wait.Deadlock:
			return cmp.Or(cmp.Compare(seen(y), seen(x)), cmp.Compare(y.Wait.Snapshots, x.Wait.Snapshots))
		case x.Wait.Deadlock: // a deadlock lasts the longest
			return -1
		}
		return 1
	})
	return rows
}

// seen returns how long a task was found in its wait, rounded so that tasks first seen in the same snapshot are equal.
func seen(n *inspect.Node) time.Duration { return n.Wait.Seen.Truncate(10 * time.Millisecond) }

func (l *list) addTree(rows []row, siblings []inspect.Node, parent int) []row {
	for i := range siblings {
		n := &siblings[i]
		r := row{node: n, parent: parent, last: i == len(siblings)-1}
		if parent >= 0 && r.last && rows[parent].node.More > 0 {
			r.last = false
		}
		if l.folds() && l.folded[n.ID] {
			r.folded = probe.Below(n)
			rows = append(rows, r)
			continue
		}
		at := len(rows)
		rows = append(rows, r)
		if n.Group != nil && l.opened[groupKey(n)] {
			members := slices.Clone(n.Group)
			for j := range members {
				members[j] = members[j].Grouped()
			}
			rows = l.addTree(rows, members, at)
			continue
		}
		rows = l.addTree(rows, n.Tasks, at)
		if n.More > 0 {
			rows = append(rows, row{node: n, parent: at, last: true, more: true})
		}
	}
	return rows
}

// addFlat adds the matching tasks, without their ancestors.
func (l *list) addFlat(rows []row, siblings []inspect.Node) []row {
	for i := range siblings {
		n := &siblings[i]
		if l.filterText == "" || probe.Match(n, l.filterText) {
			rows = append(rows, row{node: n, parent: -1})
		}
		rows = l.addFlat(rows, n.Tasks)
	}
	return rows
}

// nearest returns the index of the previously selected row in the new rows, or of a row that was next to it.
func (l *list) nearest(old []row, was int) int {
	if len(l.rows) == 0 || len(old) == 0 {
		return 0
	}
	now := make(map[key]int, len(l.rows))
	for i, r := range l.rows {
		now[r.key()] = i
	}
	for up, down := was, was; up >= 0 || down < len(old); up, down = up-1, down+1 {
		if down < len(old) {
			if i, ok := now[old[down].key()]; ok {
				return i
			}
		}
		if up >= 0 {
			if i, ok := now[old[up].key()]; ok {
				return i
			}
		}
	}
	return min(was, len(l.rows)-1)
}

// scroll keeps the selection on the screen, and the screen filled.
func (l *list) scroll() {
	l.selected = max(0, min(l.selected, len(l.rows)-1))
	l.offset = min(l.offset, l.selected, len(l.rows)-l.height)
	l.offset = max(l.offset, l.selected-l.height+1, 0)
}

func (l *list) move(by int) {
	l.selected += by
	l.scroll()
	if len(l.rows) > 0 {
		l.chosen = l.rows[l.selected].key()
	}
}

// filter shows only tasks that match the word; "" shows all. If the user's own selection is visible again, it is selected.
func (l *list) filter(word string) {
	l.filterText = word
	l.arrange()
	if i := slices.IndexFunc(l.rows, func(r row) bool { return r.key() == l.chosen }); i >= 0 {
		l.selected = i
		l.scroll()
	}
}

// currentGroup returns the selected node if it is a group, else nil.
func (l *list) currentGroup() *inspect.Node {
	if l.selected >= len(l.rows) || l.rows[l.selected].more || l.rows[l.selected].node.Group == nil {
		return nil
	}
	return l.rows[l.selected].node
}

// current returns the selected task with all its descendants, or nil if none is selected.
func (l *list) current() *inspect.Node {
	if l.selected >= len(l.rows) || l.rows[l.selected].more || l.currentGroup() != nil {
		return nil
	}
	n := l.rows[l.selected].node
	if l.filterText != "" {
		return find(l.trees, n.ID) // the filter may have removed some descendants
	}
	return n
}

// find returns the task with this ID, or nil.
func find(trees []inspect.Node, id uint32) *inspect.Node {
	for i := range trees {
		if trees[i].ID == id {
			return &trees[i]
		}
		if n := find(trees[i].Tasks, id); n != nil {
			return n
		}
	}
	return nil
}

// visible returns the rows on the screen and the index of the first one.
func (l *list) visible() ([]row, int) {
	end := min(l.offset+l.height, len(l.rows))
	return l.rows[min(l.offset, end):end], l.offset
}

// folds reports whether tasks can be folded: not in a flat list, and not with a filter, which must show its matches.
func (l *list) folds() bool { return l.order == byTree && l.filterText == "" }

// setFolded folds or unfolds the selected task, and reports whether that changed something.
func (l *list) setFolded(folded bool) bool {
	if group := l.currentGroup(); group != nil {
		return l.setOpen(group, !folded)
	}
	n := l.current()
	if n == nil || !l.folds() || l.folded[n.ID] == folded || len(n.Tasks)+n.More == 0 {
		return false
	}
	if folded {
		l.folded[n.ID] = true
	} else {
		delete(l.folded, n.ID)
	}
	l.arrange()
	return true
}

// setOpen shows the members of a group separately, or the group as one row, and reports whether that changed something.
func (l *list) setOpen(group *inspect.Node, open bool) bool {
	k := groupKey(group)
	if l.opened[k] == open {
		return false
	}
	if open {
		l.opened[k] = true
	} else {
		delete(l.opened, k)
	}
	l.arrange()
	return true
}

// out folds the selected task, or selects its parent if there is nothing to fold.
func (l *list) out() {
	if !l.setFolded(true) && len(l.rows) > 0 && l.rows[l.selected].parent >= 0 {
		l.move(l.rows[l.selected].parent - l.selected)
	}
}

// in unfolds the selected task, or selects its first child.
func (l *list) in() {
	if !l.setFolded(false) && l.selected+1 < len(l.rows) && l.rows[l.selected+1].parent == l.selected {
		l.move(1)
	}
}

// branches draws the lines of the tree to the left of row i, at most width columns of them: those nearest to the row.
func (l *list) branches(i, width int) string {
	var parts []string
	r := l.rows[i]
	for ; r.parent >= 0 && 3*len(parts)+3 <= width; r = l.rows[r.parent] {
		switch {
		case len(parts) == 0 && r.last:
			parts = append(parts, "└─ ")
		case len(parts) == 0:
			parts = append(parts, "├─ ")
		case r.last:
			parts = append(parts, "   ")
		default:
			parts = append(parts, "│  ")
		}
	}
	if r.parent >= 0 && len(parts) > 0 {
		parts[len(parts)-1] = "…  "
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}
