package meanwhile

import "iter"

// Scopes yields each scope, shield and stream of the process: its name, and how many tasks it has, itself included and those
// of the ones inside it left out. So the sum is the number of all tasks. Several may have one name; one without a name of
// its own has that of its kind, such as "run".
//
// It walks the trees and looks at no goroutine, which makes it cheap beside [Trees]: it can be called every few seconds where
// there are 100,000 tasks. Tasks that start or end meanwhile may be counted or not. It may be called by many goroutines at
// once.
func Scopes() iter.Seq2[string, int] {
	return func(yield func(name string, tasks int) bool) {
		for _, n := range roots() {
			if !n.yieldScopes(yield) {
				return
			}
		}
	}
}

// yieldScopes yields those of the subtree of the scope n, and reports whether more are wanted.
func (n *node) yieldScopes(yield func(string, int) bool) bool {
	own, inner := n.census(0, nil)
	if !yield(n.label(), own) {
		return false
	}
	for _, s := range inner {
		if !s.yieldScopes(yield) {
			return false
		}
	}
	return true
}

// census adds n and the tasks below it to those counted so far, as far as to the scopes inside, which it adds to inner.
func (n *node) census(own int, inner []*node) (int, []*node) {
	own++
	var below []*node
	n.mu.Lock()
	below = n.children(below)
	n.mu.Unlock()
	for _, k := range below {
		switch k.kind() {
		case kindTask, kindItem:
			own, inner = k.census(own, inner)
		default:
			inner = append(inner, k)
		}
	}
	return own, inner
}
