// Package otlp receives and forwards records by the OpenTelemetry protocol (OTLP): [Handler] receives logs that SDKs
// and collectors export, by HTTP and gRPC, and [Output] exports records to a collector by HTTP.
//
// The parts of a record and their names in OTLP:
//
//	Service         the resource's attribute service.name
//	Time            time_unix_nano, or observed_time_unix_nano without it
//	Level           severity_number - 9, so that names of slog and OTLP mean the same; without it, severity_text
//	Message         body; a body that is not a string becomes JSON
//	Task, Job       the attributes meanwhile.task and meanwhile.job
//	Attrs           attributes of the resource, the scope (as otel.scope.name and otel.scope.version) and the record; lists
//	                of keys and values with their keys joined by dots, arrays as JSON, bytes in base64
//	Attrs trace_id, span_id, trace_flags, event_name: the fields of these names
package otlp

// Bounds of one request.
const (
	// MaxBody is the largest body, in bytes after decompression.
	MaxBody = 16 << 20
	// MaxAttrs is the maximum number of attributes of a record; the attribute dropped_attributes_count is how many more it had.
	MaxAttrs = 1000

	maxDepth = 32   // of nested values
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
