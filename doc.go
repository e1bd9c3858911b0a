// Package meanwhile provides structured concurrency for Go: tasks in a tree, without goroutine leaks, and streams with
// concurrency limits, rate limits, retries and backpressure. It is for work that waits, for an API, a database or a disk: code
// stays plain and sequential, and thousands of waits run at once.
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
// A task is a function running in a tree, with a parent and an end. [Run] opens a scope, calls a function in it and
// returns when every task started in it has ended; [Go] and [Async] start a task in the scope that their ctx belongs to.
// The scope travels in ctx: any function that has the ctx can start tasks, the signatures around it stay as they are, and no
// goroutine is leaked.
//
// A task that fails, or panics, cancels the others in its scope, and Run returns its failure. [Supervise] opens a scope
// whose tasks fail alone. Each task is a scope for the tasks it starts.
//
// The ctx of a task is a context.Context like those of the standard library: its cause says who canceled it and why, and
// child contexts, deadlines and AfterFunc work as they do there, without a goroutine.
//
// # Streams
//
// A [Stream] is an iter.Seq2[T, error] pulled by a range loop. [Map] runs a function on its values, a bounded number at
// once, and yields the results in order; [Limit], [AdaptiveLimit], [Rate], [Timeout], [Retry], [Window] and [Unordered] say
// how. An item that fails is yielded as an error in its place, and the others continue. [Generate] makes sources that wait;
// [Filter], [Take] and [FlatMap] transform a stream.
//
// # Errors
//
// The first failure leads, later ones are joined after it, and errors that only follow from a cancellation are left out.
// [TaskError] has the path of the task, [ItemError] the item, [PanicError] the value and the stack.
//
// # What is everything waiting for
//
// Package inspect shows what runs, what each task waits for, and where in the caller's own code; its Watch reports blocked
// tasks, ignored cancellations, deadlocks and leaked goroutines. Package live serves that over HTTP. Main of package process
// runs a program as one scope, and prints the tasks that do not stop.
//
// # Misuse
//
// A programming mistake that no data can cause panics with a message that says what to do: a task outside a scope,
// or after its end, a wait that cannot end, a limit that is not positive, a nil ctx.
//
// # Time
//
// All waits work with testing/synctest: in a test, an hour costs nothing.
package meanwhile
