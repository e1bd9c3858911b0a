// Package logs sends the log records of a program to a log server. It has a handler for log/slog with a buffer in memory, a spool on disk,
// and acknowledgements. Records that are dropped because both are full are counted and reported.
//
// The handler never blocks its caller, unless [HandlerOptions].Block is set:
//
//	handler, err := logs.NewHandler("tcp://logs:6767", nil)
//	slog.SetDefault(slog.New(handler))
//
// A record belongs to one service, has a time, a level, a message and attributes, and names the task and the job that it was logged in.
// The records of one client stay in order. A [Record] is a value; a [View] reads a record in place, and a [Batch] holds many records in the
// encoding that memory, spool, wire and disk share.
//
// The packages below receive, store, search and forward records; none imports one that follows it:
//
//	logs/filter    the language of searches
//	logs/storage   the contract of stores; logs/segment is the store, logs/remote the client of a server's store
//	logs/input     the contract of inputs, such as logs/syslog
//	logs/linefile  outputs that write lines to files
//	logs/server    listeners, sessions, routes, batchers
//	logs/forward   outputs that forward the records of a store
//
// This package imports none of them.
package logs
