//go:build unix

package engines

import (
	"fmt"
	"strings"
	"testing"
)

// collect starts a collector that takes OTLP at an address, and exports it to a URL.
func collect(t *testing.T, to string, c collecting) (p *process, address string) {
	t.Helper()
	address = free(t)
	var config strings.Builder
	fmt.Fprintf(&config, "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: %s\n", address)
	if c.maxBody > 0 {
		fmt.Fprintf(&config, "        max_request_body_size: %d\n", c.maxBody)
	}
	fmt.Fprintf(&config, "exporters:\n  otlp_http:\n    endpoint: %s\n", to)
	if c.queue {
		config.WriteString("    retry_on_failure: {initial_interval: 50ms, max_interval: 1s, max_elapsed_time: 0}\n")
	} else {
		config.WriteString("    sending_queue: {enabled: false}\n    retry_on_failure: {enabled: false}\n")
	}
	config.WriteString("service:\n  pipelines:\n    logs: {receivers: [otlp], exporters: [otlp_http]}\n")
	path := written(t, t.TempDir(), "collector.yaml", config.String())
	return start(t, address, built(t, buildCollector), "--config", path), address
}

// collecting is how a collector exports.
type collecting struct {
	queue   bool  // it acknowledges before it has exported, and tries again until it has; else it acknowledges when it has
	maxBody int64 // bytes of a request that it takes; default: its own
}
