// Package job runs durable background jobs, which survive the process. A job is enqueued in a store, a SQLite file, a PostgreSQL
// database or Redis, and is run by a worker, in this process or another, until its handler succeeds; each as a task, so that one worker runs
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
// A job whose Enqueue has returned is durable, and is run at least once. It can be run twice: when its process dies, or
// is cut off from the store for longer than the lease, before the outcome is written. Only the worker that holds a job can
// settle it. An attempt is counted when it is claimed, so that a job that kills its process comes to an end.
// For effects in the database of the store, [Complete] makes it exactly once; a kind that must rather be left out than run twice
// is [AtMostOnce].
package job
