// Package tasklog adds the path and the attributes of the current task to the records of log/slog: [Handler] wraps a handler, and
// [Attrs] and [AppendPath] are for handlers that do so themselves.
//
// It imports internal/scope.
package tasklog
