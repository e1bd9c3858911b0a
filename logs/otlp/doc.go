// Package otlp receives and forwards records with the OpenTelemetry protocol (OTLP): [Handler] receives the logs that SDKs
// and collectors export, over HTTP and gRPC, and [Output] exports records to a collector over HTTP.
//
// The parts of a record and their names in OTLP:
//
//	Service         the resource's attribute service.name
//	Time            time_unix_nano; without it, observed_time_unix_nano
//	Level           severity_number - 9, so that the names of slog and OTLP have the same meaning; without it, severity_text
//	Message         body: a string as it is, bytes in base64, other values as JSON
//	Task, Job       the attributes meanwhile.task and meanwhile.job
//	Attrs           the attributes of the resource, the scope and the record, and the scope's name and version as otel.scope.name and
//	                otel.scope.version; the keys in lists of keys and values are joined by dots, arrays are JSON, bytes base64
//	Attrs trace_id, span_id, trace_flags, event_name: the fields of these names
package otlp

// Bounds of one request.
const (
	// MaxBody is the largest body, in bytes after decompression.
	MaxBody = 16 << 20
	// MaxAttrs is the maximum number of attributes of a record. The attribute dropped_attributes_count is the number of further ones.
	MaxAttrs = 1000

	maxDepth = 32   // the depth of nested values
	maxKey   = 1024 // bytes of keys joined by dots; an attribute with a longer key counts as dropped
)

// Keys of attributes that stand for other parts of a record, or for fields of OTLP.
const (
	serviceKey = "service.name"
	taskKey    = "meanwhile.task"
	jobKey     = "meanwhile.job"
	droppedKey = "dropped_attributes_count"
	textKey    = "severity_text"
	traceKey   = "trace_id"
	spanKey    = "span_id"
	flagsKey   = "trace_flags"
	eventKey   = "event_name"
)
