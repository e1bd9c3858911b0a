// Package logs gathers what many processes log in one place, and loses nothing that it has acknowledged.
//
// A program logs through log/slog, by a handler that never makes its caller wait:
//
//	handler, err := logs.NewHandler("tcp://logs:6767", nil)
//	slog.SetDefault(slog.New(handler))
//
// A server takes the records, of this package's own clients and of those that speak Analogger, syslog, OTLP or lines of
// JSON, or that push to Loki or Elasticsearch. It keeps them in segments by service and day, finds them again, follows them, and
// forwards them.
//
//	input  ──> Feed ──> route ──> Store (segments)
//	                          ├─> line files, standard output, sockets
//	                          └─> outputs, from the Store
//
// A record is of one service, has a time, a level, a message and attributes, and knows the task and the job that it was
// logged in. Those of one client stay in its order.
package logs
