// Package inspect shows what the tasks of a process do, and what each of them waits for.
//
// [Tree] and [Trees] return the running tasks as values. [Watch] reports blocked tasks, ignored cancellations, deadlocks, leaked goroutines and
// tasks that pile up. [Waits] is the wait profile: how tasks spent their time. [Leaks] asks the runtime for goroutines that can never continue.
// Package live serves all of this over HTTP.
//
// It imports package meanwhile, internal/scope and internal/goroutine; none of them imports inspect, so a program that does not import inspect
// links none of it.
package inspect
