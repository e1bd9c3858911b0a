// Package tasklog is what log handlers ask of tasks: [Handler] adds the path and the attributes of the task to each record, and
// [Attrs] and [AppendPath] are for handlers that do so themselves.
//
// It imports internal/scope.
package tasklog
