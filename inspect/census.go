package inspect

import (
	"iter"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// Scopes yields each scope, shield and stream of the process: its name, and how many tasks it has, including itself but not including the tasks
// of scopes inside it. So the sum is the number of all tasks. Several scopes may share a name; one without a name of its own has the name of its
// kind, such as "run".
//
// It walks the trees and does not read goroutines, which makes it cheap compared with [Trees]: it can be called every few seconds with 100,000
// tasks. Tasks that start or end during the call may be counted or not. It may be called concurrently.
func Scopes() iter.Seq2[string, int] {
	return func(yield func(name string, tasks int) bool) {
		for _, n := range scope.Roots() {
			if !yieldScopes(n, yield) {
				return
			}
		}
	}
}

// yieldScopes yields the scopes of the subtree of n. It returns false if no more are wanted.
func yieldScopes(n *scope.Node, yield func(string, int) bool) bool {
	own, inner := census(n, 0, nil)
	if !yield(n.Label(), own) {
		return false
	}
	for _, s := range inner {
		if !yieldScopes(s, yield) {
			return false
		}
	}
	return true
}

// census counts n and the tasks below it, but not the tasks of scopes inside, and appends these scopes to inner.
func census(n *scope.Node, own int, inner []*scope.Node) (int, []*scope.Node) {
	own++
	var below []*scope.Node
	below = n.Tasks(below)
	for _, k := range below {
		switch k.Kind() {
		case scope.KindTask, scope.KindItem:
			own, inner = census(k, own, inner)
		default:
			inner = append(inner, k)
		}
	}
	return own, inner
}
