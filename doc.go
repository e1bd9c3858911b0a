// Package meanwhile provides structured concurrency for Go: tasks in a tree, without goroutine leaks, and streams with
// concurrency limits, rate limits, retries and backpressure. It is for programs that mostly wait, for an API, a database or
// a disk: the code stays plain and sequential, and thousands of waits run concurrently.
//
//	err := meanwhile.Run(ctx, func(ctx context.Context) error {
//		user := meanwhile.Async(ctx, loadUser)
//		meanwhile.Go(ctx, warmCache)
//		u, err := user.Wait(ctx)
//		…
//	})
//
// # Tasks
//
// A task is a function that runs in a tree of tasks: its scope waits for its end. [Run] opens a scope, calls a function in
// it and returns when every task started in it has ended; [Go] and [Async] start a task in the scope that their ctx belongs
// to. The scope travels in ctx: any function that has the ctx can start tasks, the signatures around it stay as they are,
// and no goroutine is leaked.
//
// A task that fails, or panics, cancels the others in its scope, and Run returns its failure. [Supervise] opens a scope
// whose tasks fail alone. Each task is a scope for the tasks it starts.
//
// The ctx of a task is a context.Context like those of the standard library: its cause says who canceled it and why, and
// child contexts, deadlines and AfterFunc work as they do there, without an additional goroutine.
//
// # Streams
//
// A [Stream] is an iter.Seq2[T, error] pulled by a range loop. [Map] runs a function on its values, a bounded number of them
// concurrently, and yields the results in order; [Limit], [AdaptiveLimit], [Rate], [Timeout], [Retry], [Window] and
// [Unordered] configure it. An item that fails is yielded as an error in its place, and the others continue. [Generate]
// returns a stream of the values that a function yields, which may block; [Filter], [Take] and [FlatMap] transform a stream.
//
// # Errors
//
// A scope returns its first failure; later ones are joined after it, and errors that only follow from a cancellation are
// left out. [TaskError] has the path of the task, [ItemError] the item, [PanicError] the value and the stack.
//
// # Inspecting a running program
//
// Package inspect shows what runs, what each task waits for, and where in the caller's own code; its Watch reports blocked
// tasks, ignored cancellations, deadlocks and leaked goroutines. Package live serves the same over HTTP. Main of package
// process runs a program as one scope, and prints the tasks that do not stop.
//
// # Misuse
//
// A programming mistake that no data can cause panics with a message that says what to do. Examples are a task that is
// started outside a scope or after its end, a wait that cannot end, a limit that is not positive, and a nil ctx.
//
// # Time
//
// All waits work with testing/synctest: in a test, an hour costs nothing.
package meanwhile
