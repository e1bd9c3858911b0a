// Package scope implements tasks, without the types of their results: a task as a context and as a node of the tree, the tasks below it,
// its cancellation, its end and what its error means, its labels, and the waits that its cancellation ends.
//
// Programs use it through package meanwhile; package inspect reads it to show running tasks. It imports internal/goroutine and no other
// package of this module.
package scope
