// Package logs is records of what programs log, and the client that sends them to a log server and loses none of them.
//
// A program logs through log/slog, by a handler that never makes its caller wait:
//
//	handler, err := logs.NewHandler("tcp://logs:6767", nil)
//	slog.SetDefault(slog.New(handler))
//
// A record is of one service, has a time, a level, a message and attributes, and knows the task and the job that it was
// logged in. Those of one client stay in its order. A [Record] is a value; a [View] reads one where it lies, and a [Batch] holds many in
// the encoding that memory, spool, wire and disk share.
//
// The packages below take records in, keep, search and forward them; each imports those before it:
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
