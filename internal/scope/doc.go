// Package scope is the core of tasks, without their types: a task as a context and as a node of the tree, the tasks below it, its
// cancellation, its end and what its error means, its labels, and the waits that its cancellation ends.
//
// Package meanwhile is what programs use of it, and package inspect what looks at it while it runs. It imports internal/goroutine
// and nothing else of this module.
package scope
