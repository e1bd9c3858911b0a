// Package jsonlines is the input for lines of JSON, over connections and over HTTP.
//
// Each line is an object. The fields that log/slog, zap, zerolog, logrus, bunyan, pino and the Elastic Common Schema write
// are understood:
//
//	time     time, ts, timestamp, @timestamp: a date, or seconds, milli-, micro- or nanoseconds since 1970
//	level    level, lvl, severity, log.level: a word, or a number of bunyan's and pino's from 10 on, below that slog's
//	message  msg, message
//	service  service, service.name; with a level of bunyan's, name
//	task     task
//	job      job
//
// Every other field is an attribute; those of objects have keys such as "http.status", those of the object attrs their own. Fields that are not of
// the expected kind are attributes as well. A line that is not an object is the message of a record.
package jsonlines
