// Package inspect shows what the tasks of a process do, and what each of them waits for.
//
// [Tree] and [Trees] return what runs, as values. [Watch] reports blocked tasks, ignored cancellations, deadlocks, leaked goroutines
// and tasks that pile up. [Waits] is the wait profile: where the time of tasks went. [Leaks] asks the runtime for goroutines
// that can never continue. Package live serves all of it over HTTP.
//
// It imports package meanwhile, internal/scope and internal/goroutine; none of them imports it, so a program that does not
// import it links none of it.
package inspect
