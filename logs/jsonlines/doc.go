// Package jsonlines is the input for lines of JSON, over connections and over HTTP.
//
// Each line is an object. These fields, which log/slog, zap, zerolog, logrus, bunyan, pino and the Elastic Common Schema write, become parts
// of a record:
//
//	time     time, ts, timestamp, @timestamp: a date, or seconds, milli-, micro- or nanoseconds since 1970
//	level    level, lvl, severity, log.level: a word, or a number: from 10 on a level of bunyan and pino, below 10 one of slog
//	message  msg, message; without them log, as Docker and Fluent Bit write it
//	service  service, service.name; with a level of bunyan or pino also name
//	task     task
//	job      job
//
// The fields of journald, as "journalctl --output=json" writes them, are read as well.
//
// Every other field is an attribute. A field of an object has a key such as "http.status", except in the object attrs, whose fields keep
// their own keys. A field whose value is not of the expected kind is an attribute as well. A line that is not an object is the message of a
// record.
package jsonlines
