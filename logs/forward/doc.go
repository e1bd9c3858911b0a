// Package forward sends what a store keeps to other systems: a [Forwarder] reads it, service by service and in order, and gives it to
// an [Output]. Packages logs/otlp, logs/opensearch, logs/loki and logs/nats have outputs.
//
// It imports packages logs, logs/filter and logs/storage.
package forward
