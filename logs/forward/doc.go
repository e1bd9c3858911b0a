// Package forward sends the records of a store to other systems: a [Forwarder] reads them, service by service and in order, and passes
// them to an [Output]. Packages logs/otlp, logs/opensearch, logs/loki and logs/nats have outputs.
//
// It imports packages logs, logs/filter and logs/storage.
package forward
