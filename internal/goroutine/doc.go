// Package goroutine gives goroutines profiler label sets that are identified by their address, and takes snapshots of what all goroutines do, each
// with the address of its set.
//
// A label set is what [runtime/pprof.Do] puts on a goroutine. The runtime keeps a pointer to it, new goroutines inherit the pointer, and profiles
// group goroutines by the content of the set. So a set of its own for each task, with the names of the task as its content, does two things: profiles
// are grouped by name, and the pointer identifies the goroutine that runs a task. Addresses are compared, and never dereferenced.
//
// Reading the pointers needs three functions of the runtime that are reached by linkname, and a set must have the layout of runtime/pprof's own. Both
// are used only on the versions of Go that they were tested with ([Exact]), after a check of the layout when the program starts, and a check of a
// whole snapshot before the first one is used. Elsewhere labels are set by the public API, and [Snapshot] reports that addresses are unknown. The
// build tag meanwhile_nolinkname has the same effect.
//
// The package imports nothing of this module.
package goroutine
