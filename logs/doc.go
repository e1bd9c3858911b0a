// Package logs sends what a program logs to a log server: a handler for log/slog with a buffer in memory, a spool on disk, and
// acknowledgements. Records that are dropped, because both are full, are counted and reported.
//
// The handler never makes its caller wait, unless [HandlerOptions].Block says so:
//
//	handler, err := logs.NewHandler("tcp://logs:6767", nil)
//	slog.SetDefault(slog.New(handler))
//
// A record belongs to one service, has a time, a level, a message and attributes, and knows the task and the job that it was logged in.
// The records of one client stay in order. A [Record] is a value; a [View] reads one in place, and a [Batch] holds many in the encoding
// that memory, spool, wire and disk share.
//
// The packages below receive, keep, search and forward records; each imports those before it:
//
//	logs/filter    the language of searches
//	logs/storage   the contract of stores; logs/segment is the store, logs/remote the client of a server's
//	logs/input     the contract of inputs, such as logs/syslog
//	logs/linefile  lines in files
//	logs/server    listeners, sessions, routes, batchers
//	logs/forward   outputs, from the store
//
// This package imports none of them.
package logs
