// Package sqlite keeps jobs in one file, without a server: a SQLite database in WAL mode. When a call has returned, its data is
// on disk (synchronous=FULL). Many goroutines and several processes of one machine may use the file at once; it must not be on a
// network file system.
//
//	store, err := sqlite.Open(ctx, "jobs.db")
//
// SQLite lets one transaction write at a time. Calls of a process that arrive during a write share the next transaction, and thus
// the wait for the disk; a call that fails does not fail the others.
//
// If a file is deleted, moved or replaced while it is open, each call returns an error that says so, instead of storing data that
// cannot be found again.
//
// # Jobs in your own transaction
//
// Tables whose names start with meanwhile_ belong to the store. The file may hold your tables as well; a transaction can then
// write data and jobs, both or neither:
//
//	tx, err := store.DB().BeginTx(ctx, nil)
//	…
//	_, err = tx.ExecContext(ctx, "insert into documents …")
//	_, err = job.Insert(ctx, store.Tx(tx), index)
//	err = tx.Commit()
//
// Transactions of DB acquire the write lock when they start, and wait for it up to ten seconds. You may also use a
// database/sql.DB of your own on the same file and driver; open it with _txlock=immediate and a busy_timeout, because a
// transaction that reads first and writes later fails at once if another has written in between. While such a transaction is
// open, all other writers wait, including the store: keep it short, and do not call methods of the store that write while it is
// open. Workers notice the jobs that it enqueued within about 20 ms of the commit.
package sqlite
