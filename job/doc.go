// Package job runs durable background jobs, which survive the process. A job is enqueued in a store (a SQLite file, a PostgreSQL database or
// Redis), and a worker, in this process or another, runs it until its handler succeeds. Each job is a task, so that one worker runs
// thousands of waiting jobs at once.
//
//	var Index = job.Define[Document]("search.index", job.MaxAttempts(5))
//
//	store, err := sqlite.Open(ctx, "file:jobs.db")
//	…
//	_, err = Index.Enqueue(ctx, store, doc)
//	…
//	worker := job.NewWorker(store, job.Config{}, Index.Handle(func(ctx context.Context, doc Document) error { … }))
//	err = worker.Run(ctx)
//
// # States
//
// A job is queued until a worker claims it, running while the worker holds it, and in the end completed, canceled or
// discarded. A failed attempt queues it again, due after a backoff, until it is out of attempts.
//
// # Promises
//
// A job whose Enqueue has returned is durable, and is run at least once. It can run twice: if its process dies, or is cut off
// from the store for longer than the lease, before the outcome is written. Only the worker that holds a job can settle it. An
// attempt is counted when it is claimed, so that a job that kills its process is not retried forever. With [Complete],
// effects in the database of the store happen exactly once. Use [AtMostOnce] for a kind whose jobs must never run twice, even
// if some then do not run at all.
package job
